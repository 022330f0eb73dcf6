/** Streams the same events as `stream-worker.ts` to the relay, each posted when the one before was. */
import { Agent, get } from "node:http";
import { json } from "node:stream/consumers";
import { openResultPoster } from "../packages/worker/src/reporting/result-poster.ts";
import { events, type StreamInput } from "./stream-chunks.ts";

const origin = process.argv[2]!;
const agent = new Agent({ keepAlive: true });
const posts = openResultPoster({
	origin,
	headers: ["content-type", "application/json"],
	timeoutMs: 60_000,
});

const take = (): Promise<{ id: string; input: StreamInput }> =>
	new Promise((resolve, reject) => {
		const request = get(`${origin}/take`, { agent }, (answer) =>
			resolve(json(answer) as Promise<{ id: string; input: StreamInput }>),
		);
		request.on("error", reject);
	});

async function run({ id, input }: { id: string; input: StreamInput }): Promise<void> {
	for await (const output of events(input)) await posts.send(`/chunk/${id}`, JSON.stringify({ output }));
	await posts.send(`/chunk/${id}`, "end");
}

for (;;) void run(await take());
