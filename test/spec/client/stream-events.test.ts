/**
 * /stream as server-sent events (D7): numbered, resumable, moving nothing, with the job object
 * last.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import {
	endpointsByName,
	endWith,
	expectError,
	handWorker,
	type HandWorker,
	statusOf,
	submitted,
} from "../hand-worker.ts";

const LEASE_MS = 20_000;
const clock = manualClock();
const unused = endpointsByName(20);
let service: TestService;
let ep: string;
let worker: HandWorker;
let id: string;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock });
});
beforeEach(async () => {
	ep = unused.next();
	worker = await handWorker(service, ep);
	id = await submitted(service, ep);
	await worker.takeThis(id);
});
afterAll(() => endWith(service, clock));

interface StreamEvent {
	id?: string;
	event?: string;
	data?: any;
	comment?: string;
}

/** Opens the stream; `next` is its next event or comment, undefined at its end. */
async function open(
	query = "",
	headers: Record<string, string> = {},
): Promise<{
	response: Response;
	next(): Promise<StreamEvent | undefined>;
	rest(): Promise<StreamEvent[]>;
	close(): void;
}> {
	const closed = new AbortController();
	const response = await fetch(`${service.url}/v2/${ep}/stream/${id}${query}`, {
		headers: { authorization: KEY, accept: "text/event-stream", ...headers },
		signal: closed.signal,
	});
	const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	const next = async (): Promise<StreamEvent | undefined> => {
		for (;;) {
			const end = text.indexOf("\n\n");
			if (end >= 0) {
				const fields: Record<string, string> = {};
				// As the standard has it: three kinds of line ends, and several data lines make one text.
				for (const line of text.slice(0, end).split(/\r\n|\r|\n/)) {
					const [, name, value] = /^(\w*): (.*)$/.exec(line)!;
					fields[name!] = name === "data" && fields["data"] !== undefined ? `${fields["data"]}\n${value}` : value!;
				}
				text = text.slice(end + 2);
				const { "": comment, data, ...rest } = fields;
				return {
					...rest,
					...(data === undefined ? {} : { data: JSON.parse(data) }),
					...(comment === undefined ? {} : { comment }),
				};
			}
			const { done, value } = await reader.read();
			if (done) return undefined;
			text += value;
		}
	};
	const rest = async (): Promise<StreamEvent[]> => {
		const all: StreamEvent[] = [];
		for (let received = await next(); received; received = await next()) all.push(received);
		return all;
	};
	return { response, next, rest, close: () => closed.abort() };
}

const event = (number: number, output: unknown): StreamEvent => ({
	id: String(number),
	data: { output, metrics: {} },
});

describe("server-sent events", () => {
	it("D7: chunks come as they are made, numbered from 0; the last event is the final job object", async () => {
		await worker.chunk(id, { output: "a" });
		const stream = await open();
		expect(stream.response.status).toBe(200);
		expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
		expect(stream.response.headers.get("cache-control")).toBe("no-cache, no-store");
		expect(await stream.next()).toEqual(event(0, "a"));
		await worker.chunk(id, { output: "b" });
		expect(await stream.next()).toEqual(event(1, "b"));
		await worker.chunk(id, { output: { c: "line\nline" } });
		expect(await stream.next()).toEqual(event(2, { c: "line\nline" }));
		await worker.done(id, { output: ["all"] });
		expect(await stream.rest()).toEqual([{ event: "end", data: await statusOf(service, ep, id) }]);
	});

	it("D7: a line end inside a worker's JSON text does not break an event in two", async () => {
		await worker.chunk(id, '{"output": {\n  "a":\r\n 1\r}}');
		await worker.done(id, {});
		const stream = await open();
		expect(await stream.next()).toEqual(event(0, { a: 1 }));
		expect(await stream.rest()).toHaveLength(1);
	});

	it("D7: of an ended job all chunks come, then its end, as often as asked", async () => {
		await worker.chunk(id, { output: 1 });
		await worker.done(id, { error: "broken" });
		for (let round = 0; round < 2; round += 1) {
			const stream = await open();
			expect(await stream.rest()).toEqual([
				event(0, 1),
				{ event: "end", data: expect.objectContaining({ status: "FAILED", error: "broken" }) },
			]);
		}
	});

	it("D7: they move nothing: a later read has all chunks", async () => {
		await worker.chunk(id, { output: 1 });
		await worker.done(id, {});
		await (await open()).rest();
		expect((await call(service.url, `/v2/${ep}/stream/${id}`)).json).toEqual([{ output: 1, metrics: {} }]);
		expect(await (await open()).rest()).toHaveLength(2);
	});

	it.each([
		["0", 1],
		["1", 2],
		["2", 3],
		["99", 3],
		["junk", 0],
	])("D7: Last-Event-ID %s resumes behind it", async (last, from) => {
		for (const output of [0, 1, 2]) await worker.chunk(id, { output });
		await worker.done(id, {});
		const received = await (await open("", { "last-event-id": last })).rest();
		expect(received.slice(0, -1)).toEqual([0, 1, 2].slice(from).map((number) => event(number, number)));
		expect(received.at(-1)?.event).toBe("end");
	});

	it("D7: ?offset= begins there too", async () => {
		for (const output of [0, 1]) await worker.chunk(id, { output });
		await worker.done(id, {});
		expect((await (await open("?offset=1")).rest())[0]).toEqual(event(1, 1));
		expectError(
			await call(service.url, `/v2/${ep}/stream/${id}?offset=x`, {
				headers: { accept: "text/event-stream" },
			}),
			400,
			"bad_query",
			["offset"],
		);
	});

	it("D7: a loss is reported by a restart event; numbers go on", async () => {
		const stream = await open();
		await worker.chunk(id, { output: "first try" });
		expect(await stream.next()).toEqual(event(0, "first try"));
		await clock.advance(LEASE_MS);
		await worker.takeThis(id);
		await worker.chunk(id, { output: "second try" });
		expect(await stream.next()).toEqual({ comment: "waiting" });
		expect(await stream.next()).toEqual({ event: "restart", data: {} });
		expect(await stream.next()).toEqual(event(1, "second try"));
		await worker.done(id, {});
		expect(await stream.rest()).toEqual([
			{ event: "end", data: expect.objectContaining({ status: "COMPLETED", retries: 1 }) },
		]);
	});

	it("D7, D28: so is the end of an attempt that counts as no loss, once, when the next one begins", async () => {
		const stream = await open();
		await worker.chunk(id, { output: "first try" });
		expect(await stream.next()).toEqual(event(0, "first try"));
		await clock.advance(1);
		await service.engine.jobs.workerEnded({ endpoint: ep, id: worker.id });
		const other = await handWorker(service, ep);
		await other.takeThis(id);
		await other.chunk(id, { output: "second try" });
		expect(await stream.next()).toEqual({ event: "restart", data: {} });
		expect(await stream.next()).toEqual(event(1, "second try"));
		await other.done(id, {});
		expect(await stream.rest()).toEqual([{ event: "end", data: expect.objectContaining({ status: "COMPLETED" }) }]);
	});

	it("D7: while nothing happens a comment keeps the connection", async () => {
		const stream = await open();
		const next = stream.next();
		let received: StreamEvent | undefined;
		void next.then((value) => (received = value));
		// Time goes on while the comment is on its way through real sockets: without one the test runs
		// out of its own time.
		await advanceUntil(clock, () => received !== undefined, 1000);
		expect(received).toEqual({ comment: "waiting" });
		stream.close();
	});

	it("D7: a reader that hangs up changes nothing for the job", async () => {
		const stream = await open();
		stream.close();
		await worker.chunk(id, { output: 1 });
		await worker.done(id, { output: 2 });
		expect(await statusOf(service, ep, id)).toMatchObject({ status: "COMPLETED", output: 2 });
	});

	it("D3: an unknown job is 404 as JSON", async () => {
		expectError(
			await call(service.url, `/v2/${ep}/stream/none`, {
				headers: { accept: "text/event-stream" },
			}),
			404,
			"job_not_found",
		);
	});
});
