/** The adapter's handler before a real server, for tests of jobs. */
import type { ServerResponse } from "node:http";
import { type Clock, systemClock } from "../../../packages/worker/src/clock.ts";
import { serverAt } from "../../../packages/worker/src/http/exchange/connection.ts";
import { createJobHandler } from "../../../packages/worker/src/http/job/job-handler.ts";
import { createReadiness } from "../../../packages/worker/src/http/server/readiness.ts";
import { RawJson } from "../../../packages/worker/src/raw-json.ts";
import { StreamOutput } from "../../../packages/worker/src/stream-output.ts";
import { httpServer, type Received, type TestServer } from "./http-servers.ts";
import { jobOf, mappingOf, NO_FILES } from "./mapping.ts";

export { json } from "./http-servers.ts";

const servers: TestServer[] = [];

/** Closes the servers of {@link handlerOf}. */
export async function closeServers(): Promise<void> {
	for (const server of servers.splice(0)) await server.close();
}

/** A handler before a server. `answer` gets the requests; what the handler does is recorded. */
export async function handlerOf(
	mapping: object,
	answer: (request: Received, response: ServerResponse) => void,
	clock: Clock = systemClock,
	folder?: string,
) {
	const server = await httpServer(answer);
	servers.push(server);
	const whole = mappingOf({ ...mapping, port: server.port });
	const kills: string[] = [];
	const progress: unknown[] = [];
	const logs: string[] = [];
	const place = serverAt({ port: server.port });
	const readiness = createReadiness({
		server: place,
		ready: whole.ready,
		concurrency: whole.concurrency,
		headers: {},
		clock,
		log: () => {},
		isAsleep: () => false,
		hasEnded: () => false,
		hide: (text) => text,
		onLost: () => {},
	});
	const handler = createJobHandler({
		mapping: whole,
		server: place,
		port: server.port,
		env: { TOKEN: "t0ken-of-the-server", QUOTED: 'to"ken' },
		readiness,
		kill: (reason) => void kills.push(reason),
		clock,
		random: () => 0,
		randomId: () => "b",
		folder,
	});
	/** Runs one job; a stream's chunks are a list. */
	async function run(
		input: unknown,
		signal = new AbortController().signal,
		onChunk: () => void = () => {},
	): Promise<unknown> {
		const context = {
			signal,
			workerId: "w",
			log: (line: string) => void logs.push(line),
			progress: async (value: unknown) => void progress.push(value),
			files: NO_FILES,
		};
		try {
			const value = (await handler(jobOf(input, { run: 1 }), context)) as unknown;
			if (value instanceof RawJson || !(Symbol.asyncIterator in (value as object))) return shown(value);
			const chunks: unknown[] = [];
			for await (const each of value as AsyncIterable<unknown>) {
				chunks.push(shown(each));
				onChunk();
			}
			return chunks;
		} catch (error) {
			return error;
		}
	}
	return { run, server, kills, progress, logs };
}

/** Values as the service gets them. */
const shown = (value: unknown): unknown =>
	value instanceof RawJson || value instanceof StreamOutput ? JSON.parse(value.text) : value;
