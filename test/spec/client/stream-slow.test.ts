/** A client that reads a stream slowly, or not at all, costs the service no memory. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { handWorker, submitted } from "../hand-worker.ts";

/** More than the system keeps for a connection on both sides. */
const CHUNKS = 40;
const CHUNK_BYTES = 900_000;

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

/** The answer, on the service's side, to the next request for this path. */
function answerTo(path: string): Promise<ServerResponse> {
	return new Promise((resolve) => {
		const onStart = (message: unknown): void => {
			const { request, response } = message as {
				request: IncomingMessage;
				response: ServerResponse;
			};
			if (request.url !== path) return;
			unsubscribe("http.server.request.start", onStart);
			resolve(response);
		};
		subscribe("http.server.request.start", onStart);
	});
}

/** Resolves when a write finds the buffer full. */
function bufferFull(answer: ServerResponse): Promise<void> {
	return new Promise((resolve) => {
		const write = answer.write.bind(answer) as (...values: unknown[]) => boolean;
		answer.write = (...values: unknown[]) => {
			const hasRoom = write(...values);
			if (!hasRoom) resolve();
			return hasRoom;
		};
	});
}

it("D7: of events that the client does not read at most two chunks wait in the service; later all arrive", async () => {
	const worker = await handWorker(service, "ep");
	const id = await submitted(service, "ep");
	await worker.takeThis(id);
	for (let number = 0; number < CHUNKS; number += 1)
		await worker.chunk(id, { output: `${number}:`.padEnd(CHUNK_BYTES, "x") });
	await worker.done(id, { output: "end" });
	const path = `/v2/ep/stream/${id}`;
	const answering = answerTo(path);
	const stream = await fetch(service.url + path, {
		headers: { authorization: KEY, accept: "text/event-stream" },
	});
	const answer = await answering;
	await bufferFull(answer);
	// The service gets its turns while the client reads nothing.
	for (let turn = 0; turn < 5; turn += 1) await call(service.url, `/v2/ep/status/${id}`);
	expect(answer.writableLength).toBeLessThan(3 * CHUNK_BYTES);
	const events = (await stream.text()).split("\n\n");
	expect(
		events.slice(0, CHUNKS).map((event) => /^id: (\d+)\ndata: \{"output":"(\d+):x/.exec(event)?.slice(1).map(Number)),
	).toEqual(Array.from({ length: CHUNKS }, (_, number) => [number, number]));
	expect(events.at(-2)).toMatch(/^event: end\n/);
});
