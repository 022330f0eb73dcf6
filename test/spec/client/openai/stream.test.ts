/**
 * Streams of /openai/* (D32): the worker's chunks as server-sent events, and what ends them early.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";
import { connectTo } from "../../../support/transport.ts";
import { endpointsByName, endWith, handWorker, type HandWorker, statusOf } from "../../hand-worker.ts";
import { ask, type Asking, asTimePasses, expectOpenAIError, type OpenAnswer } from "./answers.ts";
import { requestText } from "../../raw-http.ts";

const clock = manualClock();
const unused = endpointsByName(40);
let service: TestService;
let ep: string;
let path: string;
let worker: HandWorker;
let asking: Asking;
let id: string;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock });
});
beforeEach(async () => {
	ep = unused.next();
	path = `/v2/${ep}/openai/v1/chat/completions`;
	worker = await handWorker(service, ep);
	asking = ask(service.url, path, { stream: true });
	id = (await worker.take())!.id;
});
afterAll(() => endWith(service, clock));

const LEASE_MS = 20_000;

const DONE = "data: [DONE]\n\n";

/** The answer after a first chunk, whose text is read. */
async function opened(): Promise<OpenAnswer> {
	await worker.chunk(id, { output: "data: first\n\n" });
	const answer = await asking.answer;
	expect(await answer.next()).toBe("data: first\n\n");
	return answer;
}

/** An answer that is no stream, as text. */
async function closed(): Promise<{ status: number; headers: Headers; text: string }> {
	const answer = await asking.answer;
	return { status: answer.status, headers: answer.headers, text: await answer.rest() };
}

/** The error of the last event, which ends the stream, behind comments that kept the connection. */
async function lastError(answer: OpenAnswer): Promise<any> {
	const [, json] = /^(?::.*\n\n)*data: (\{.*\})\n\n$/.exec(await answer.rest())!;
	return JSON.parse(json!).error;
}

describe("what goes out", () => {
	it("D41, D5: a large text result arrives unchanged", async () => {
		const text = `data: ${"é😀".repeat(500_000)}\n\n`;
		await worker.done(id, { output: text });
		expect(await (await asking.answer).rest()).toBe(text + DONE);
	});

	it("D32: text goes out as the worker makes it, and the answer begins with the first of it", async () => {
		let begun = false;
		void asking.answer.then(() => (begun = true));
		await worker.ping(id);
		await clock.advance(14_000);
		expect(begun).toBe(false);
		const answer = await opened();
		expect(answer.status).toBe(200);
		expect(
			Object.fromEntries(
				["content-type", "cache-control", "x-accel-buffering", "content-encoding", "x-request-id"].map((name) => [
					name,
					answer.headers.get(name),
				]),
			),
		).toEqual({
			"content-type": "text/event-stream",
			"cache-control": "no-cache, no-store",
			"x-accel-buffering": "no",
			"content-encoding": null,
			"x-request-id": id,
		});
		await worker.chunk(id, { output: 'data: {"a":1}\n\nda' });
		expect(await answer.next()).toBe('data: {"a":1}\n\n');
		await worker.chunk(id, { output: `ta: {"b":2}\n\n${DONE}` });
		expect(await answer.next()).toBe(`data: {"b":2}\n\n${DONE}`);
		await worker.done(id, { output: ["all"] });
		expect(await answer.rest()).toBe("");
	});

	it("D32: lists become an event per element, objects one, and [DONE] is added", async () => {
		await worker.chunk(id, '{"output":[{"n":12345678901234567890},{"f":1.0}]}');
		await worker.chunk(id, '{"output":{\n"o":1}}');
		await worker.done(id, { output: [] });
		expect(await (await asking.answer).rest()).toBe(
			`data: {"n":12345678901234567890}\n\ndata: {"f":1.0}\n\ndata: { "o":1}\n\n${DONE}`,
		);
	});

	it.each([
		['{"a":1}', `data: {"a":1}\n\n${DONE}`],
		['[{"a":1},"data: x\\n\\n"]', `data: {"a":1}\n\ndata: x\n\n${DONE}`],
		["[]", DONE],
	])("D32: the result %s of a worker that does not stream goes out as if it had", async (output, text) => {
		await worker.done(id, `{"output":${output}}`);
		expect(await closed()).toMatchObject({ status: 200, text });
	});

	it("D32, spec 2.7: text over the limit of a chunk arrives whole", async () => {
		const long = `data: ${"é".repeat(1_200_000)}\n\n`;
		await worker.chunk(id, { output: long });
		await worker.done(id, {});
		expect(await (await asking.answer).rest()).toBe(long + DONE);
	});

	it("D32: while nothing comes a comment keeps the connection, not before the answer has begun", async () => {
		const answer = await opened();
		const next = answer.next();
		let piece: string | undefined;
		void next.then((text) => (piece = text));
		for (let passed = 0; piece === undefined; passed += 1000) {
			expect(passed).toBeLessThan(30_000);
			await worker.ping(id);
			await clock.advance(1000);
		}
		expect(piece).toBe(": waiting\n\n");
		await worker.done(id, {});
		expect(await answer.rest()).toBe(DONE);
	});

	it("D7: it moves nothing: /stream has all chunks afterwards", async () => {
		const answer = await opened();
		await worker.done(id, {});
		await answer.rest();
		expect((await call(service.url, `/v2/${ep}/stream/${id}`)).json).toEqual([
			{ output: "data: first\n\n", metrics: {} },
		]);
	});
});

describe("failures", () => {
	it("D32: before the first chunk they are HTTP errors", async () => {
		await worker.done(id, {
			error: { message: "no such model", type: "NotFoundError", param: "model", code: 404 },
		});
		const answer = await closed();
		expect(expectOpenAIError(answer, 404, 404)).toEqual({
			message: "no such model",
			type: "NotFoundError",
			param: "model",
			code: 404,
		});
		expect(answer.headers.get("x-should-retry")).toBe("false");
		expect(answer.headers.get("x-request-id")).toBe(id);
	});

	it("protocol C.2: a first chunk of OpenAI's error form is an HTTP error", async () => {
		await worker.chunk(id, {
			output: { object: "error", message: "bad", type: "BadRequestError", param: null, code: 400 },
		});
		expectOpenAIError(await closed(), 400, 400);
		await worker.done(id, {});
	});

	it("protocol C.2: so is a result of that form without any chunk", async () => {
		await worker.done(id, { output: [{ object: "error", message: "bad", code: 400 }] });
		expectOpenAIError(await closed(), 400, 400);
	});

	it("D32: in the middle they are one event, and half a line before it is left out", async () => {
		const answer = await opened();
		await worker.chunk(id, { output: 'data: {"half' });
		await worker.done(id, { error: "handler: broke half way \ntraceback: Traceback" });
		expect(await lastError(answer)).toEqual({
			message: "broke half way",
			type: "server_error",
			param: null,
			code: "worker_failed",
		});
	});

	it("D32: a later chunk of OpenAI's error form is an error event and the end", async () => {
		const answer = await opened();
		await worker.chunk(id, { output: { object: "error", message: "late", code: 503 } });
		expect(await lastError(answer)).toMatchObject({ message: "late", code: 503 });
		await worker.done(id, {});
	});

	it("D32: a job cancelled in the middle is an error event", async () => {
		const answer = await opened();
		await call(service.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		expect((await lastError(answer)).code).toBe("job_cancelled");
	});
});

describe("an attempt that is lost", () => {
	it("D32, D16: after a part of it was sent, the stream ends with an error and the job is cancelled", async () => {
		const answer = await opened();
		const settled = service.next("job.settled", (facts) => facts.id === id);
		await clock.advance(LEASE_MS);
		await worker.takeThis(id);
		expect((await asTimePasses(clock, lastError(answer))).code).toBe("attempt_lost");
		expect((await settled).state).toBe("CANCELLED");
	});

	it("D32, D16: the next attempt's text never follows that of the lost one", async () => {
		const answer = await opened();
		await clock.advance(LEASE_MS);
		await worker.takeThis(id);
		await worker.chunk(id, { output: "data: first\n\n" });
		expect((await lastError(answer)).code).toBe("attempt_lost");
	});

	it("D32, D16: before anything was sent, the next attempt answers", async () => {
		await clock.advance(LEASE_MS);
		await worker.takeThis(id);
		await worker.chunk(id, { output: "data: second\n\n" });
		await worker.done(id, {});
		expect(await closed()).toMatchObject({ status: 200, text: `data: second\n\n${DONE}` });
	});

	it("D32, D16: chunks that were read while it was being lost do not go out", async () => {
		const { status } = service.engine.jobs;
		service.engine.jobs.status = async (q) => {
			service.engine.jobs.status = status;
			await clock.advance(LEASE_MS);
			await worker.takeThis(id);
			await worker.chunk(id, { output: "data: second\n\n" });
			return await status(q);
		};
		await worker.chunk(id, { output: "data: lost\n\n" });
		const answer = await asking.answer;
		expect(await answer.next()).toBe("data: second\n\n");
		await worker.done(id, {});
		expect(await answer.rest()).toBe(DONE);
	});
});

describe("the client's side", () => {
	it("D32: hanging up in the middle stops the job", async () => {
		await opened();
		const settled = service.next("job.settled", (facts) => facts.id === id);
		const stopped = service.next("stop.sent", (facts) => facts.id === id);
		asking.hangUp();
		expect((await settled).state).toBe("CANCELLED");
		expect((await stopped).worker).toBe(worker.id);
	});

	it("D32: what a client does not read waits in the store, and leaving then stops the job", async () => {
		const { streamFrom } = service.engine.jobs;
		let asked = 0;
		let woken = (): void => {};
		service.engine.jobs.streamFrom = (q) => {
			asked = q.from;
			woken();
			return streamFrom(q);
		};
		const { socket } = connectTo(service.url);
		socket.on("error", () => {});
		socket.write(
			requestText({
				method: "POST",
				path,
				headers: { Authorization: KEY },
				body: '{"stream":true}',
			}),
		);
		// The first request of this test has a worker's job; this one waits behind it.
		await worker.done(id, {});
		const slow = (await worker.take())!.id;
		const count = 30;
		for (let n = 0; n < count; n += 1) await worker.chunk(slow, { output: `data: ${"x".repeat(900_000)}\n\n` });
		const settled = service.next("job.settled", (facts) => facts.id === slow);
		// Time enough for a stream that does not wait for its reader: it reads the store between these
		// reads.
		for (let turn = 0; turn < 20; turn += 1) expect((await statusOf(service, ep, slow)).status).toBe("IN_PROGRESS");
		expect(asked).toBeLessThan(count);
		let got = 0;
		const some = new Promise<void>((resolve) => {
			socket.on("data", (piece) => {
				got += piece.length;
				if (got > 1_000_000) resolve();
			});
		});
		const further = new Promise<void>((resolve) => {
			const before = asked;
			woken = () => {
				if (asked > before) resolve();
			};
		});
		await some;
		await further;
		socket.destroy();
		service.engine.jobs.streamFrom = streamFrom;
		expect((await asTimePasses(clock, settled)).state).toBe("CANCELLED");
	});
});
