/** Clients that read streams of the benchmarks (`stream-chunks.ts`), and what the chunks took. */
import { Agent, request } from "node:http";
import { KEY } from "./processes.ts";
import type { StreamInput } from "./stream-chunks.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 1000 });

/** Times of the chunks of one stream, ms. */
function stream(url: string, input: StreamInput): Promise<number[]> {
	const { promise, resolve, reject } = Promise.withResolvers<number[]>();
	const call = request(url, { method: "POST", agent, headers: { authorization: `Bearer ${KEY}` } }, (answer) => {
		const times: number[] = [];
		let rest = "";
		answer.setEncoding("utf8");
		answer.on("data", (text: string) => {
			const now = performance.timeOrigin + performance.now();
			const events = (rest + text).split("\n\n");
			rest = events.pop()!;
			for (const event of events) {
				const at = /"at":([\d.]+)/.exec(event)?.[1];
				if (at !== undefined) times.push(now - Number(at));
			}
		});
		answer.on("end", () => {
			if (answer.statusCode === 200 && times.length === input.chunks) resolve(times);
			else reject(new Error(`HTTP ${answer.statusCode}, ${times.length} chunks`));
		});
	});
	call.on("error", reject);
	call.end(JSON.stringify({ model: "m", stream: true, ...input }));
	return promise;
}

/** Chunks per second of all streams together; from the making of a chunk to the client, ms. */
export interface Round {
	perSecond: number;
	p50: number;
	p99: number;
}

/** Reads so many streams at a time to their ends. `url` takes chats of OpenAI's API. */
export async function round(url: string, streams: number, input: StreamInput): Promise<Round> {
	const began = performance.now();
	const all = (await Promise.all(Array.from({ length: streams }, () => stream(url, input)))).flat();
	const seconds = (performance.now() - began) / 1000;
	all.sort((a, b) => a - b);
	const at = (part: number): number => Number(all[Math.floor((all.length - 1) * part)]!.toFixed(2));
	return { perSecond: Math.round(all.length / seconds), p50: at(0.5), p99: at(0.99) };
}
