/**
 * Streams of `/openai`, next to a relay that keeps nothing: chunks as fast as they are taken, by one
 * and by many streams, and tokens at the pace of a model. Prints JSON: chunks per second, time from
 * the worker to the client in ms, and the ratio to the relay. `node bench/stream.ts [streams]
 * [chunks] [rounds]`, after `npm run build`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { machine, spread } from "./machine.ts";
import { KEY, end, startService, startWorker } from "./processes.ts";
import type { StreamInput } from "./stream-chunks.ts";

const [many = 32, chunks = 400, rounds = 5] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

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

interface Round {
	perSecond: number;
	p50: number;
	p99: number;
}

async function round(url: string, streams: number, input: StreamInput): Promise<Round> {
	const began = performance.now();
	const all = (await Promise.all(Array.from({ length: streams }, () => stream(url, input)))).flat();
	const seconds = (performance.now() - began) / 1000;
	all.sort((a, b) => a - b);
	const at = (part: number): number => Number(all[Math.floor((all.length - 1) * part)]!.toFixed(2));
	return { perSecond: Math.round(all.length / seconds), p50: at(0.5), p99: at(0.99) };
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const children: ChildProcess[] = [];
try {
	const relay = spawn(process.execPath, [pathOf("relay.ts")], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	children.push(relay);
	const [port] = (await once(relay.stdout, "data")) as [Buffer];
	const relayUrl = `http://127.0.0.1:${String(port).trim()}`;
	const relayArgs = [pathOf("relay-worker.ts"), relayUrl];
	children.push(spawn(process.execPath, relayArgs, { stdio: ["ignore", "ignore", "inherit"] }));
	const service = await startService(folder);
	children.push(await startWorker(service.url, "stream-worker.ts"), service.child);
	const url = `${service.url}/v2/noop/openai/v1/chat/completions`;

	const result: Record<string, unknown> = { bench: "stream", ...machine(), chunks, rounds };
	for (const [name, streams, everyMs] of [
		["one stream, as fast as possible", 1, 0],
		[`${many} streams, as fast as possible`, many, 0],
		["one stream, a token every 20 ms", 1, 20],
		[`${many} streams, a token every 20 ms each`, many, 20],
	] as const) {
		const input = { chunks: everyMs > 0 ? Math.min(chunks, 100) : chunks, everyMs };
		await round(url, streams, input);
		await round(relayUrl, streams, input);
		const pairs: [Round, Round][] = [];
		for (let count = 0; count < rounds; count += 1)
			pairs.push([await round(relayUrl, streams, input), await round(url, streams, input)]);
		const of = (side: 0 | 1, member: keyof Round) => spread(pairs.map((pair) => pair[side][member]));
		result[name] = {
			...(everyMs === 0 && {
				ratio: spread(pairs.map(([base, own]) => Number((own.perSecond / base.perSecond).toFixed(2)))),
				perSecond: of(1, "perSecond"),
			}),
			p50: of(1, "p50"),
			p99: of(1, "p99"),
			relay: { perSecond: of(0, "perSecond"), p50: of(0, "p50"), p99: of(0, "p99") },
		};
	}
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	for (const child of children) await end(child);
	rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
