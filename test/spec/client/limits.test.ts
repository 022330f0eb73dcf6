/** Section 8: sizes of payloads, and the bound of the queue. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker, submitted } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: {
			ep: {},
			none: { workersMax: 0 },
			three: { limits: { queue: 3 } },
			zero: { limits: { queue: 0 } },
			off: { limits: "off", workersMax: 0 },
			back: { limits: { queue: 1 } },
			sync: { limits: { queue: 0 } },
		},
	});
});
afterAll(() => service.end());

const LIMITS = [
	["run", 10_485_760],
	["runsync", 20_971_520],
] as const;
const AUTH = { Authorization: KEY };

/** A submission of exactly so many bytes. */
function bodyOf(size: number): string {
	const [head, tail] = ['{"input":{"a":"', '"}}'];
	return head + "x".repeat(size - head.length - tail.length) + tail;
}

describe.each(LIMITS)("the payload of /%s", (operation, limit) => {
	it(`spec 8: ${limit} bytes are taken`, async () => {
		const queued = service.next("job.queued");
		const answer = call(service.url, `/v2/ep/${operation}`, { text: bodyOf(limit) });
		const { id } = await Promise.race([queued, answer.then(({ text }) => ({ id: JSON.parse(text).id as string }))]);
		await call(service.url, `/v2/ep/cancel/${id}`, { method: "POST" });
		expect((await answer).status).toBe(200);
	});

	it.each([limit + 1, 10 * limit, Number.MAX_SAFE_INTEGER])(
		"D3: a Content-Length of %d is 413 before any of the body is sent",
		async (size) => {
			const connection = await rawConnection(service.url);
			connection.write(
				requestText({
					method: "POST",
					path: `/v2/ep/${operation}`,
					headers: { ...AUTH, "Content-Length": String(size) },
				}),
			);
			const body = expectError(await connection.answer(), 413, "body_too_large");
			expect(body.error).toContain(`${size} bytes; at most ${limit}`);
			connection.socket.destroy();
		},
	);

	it("D3: a client that sends it all first, and reads only then, gets the answer too", async () => {
		const connection = await rawConnection(service.url, { lazy: true });
		const request = requestText({
			method: "POST",
			path: `/v2/ep/${operation}`,
			headers: AUTH,
			body: bodyOf(limit + 1),
		});
		const fault = await new Promise((resolve) => connection.socket.write(request, resolve));
		expect(fault ?? undefined).toBeUndefined();
		const answer = await connection.answer();
		expectError(answer, 413, "body_too_large");
		expect(answer.headers["connection"]).toBe("close");
		await connection.closed;
	});

	it("D3: one byte too many in chunks is 413 at once, readable by a client that goes on sending", async () => {
		const connection = await rawConnection(service.url);
		connection.write(
			requestText({
				method: "POST",
				path: `/v2/ep/${operation}`,
				headers: { ...AUTH, "Transfer-Encoding": "chunked" },
			}),
		);
		const body = bodyOf(limit + 1);
		const piece = 1_048_576;
		for (let at = 0; at < body.length; at += piece) {
			const part = body.slice(at, at + piece);
			connection.write(`${part.length.toString(16)}\r\n${part}\r\n`);
		}
		connection.write("0\r\n\r\n");
		const refusal = expectError(await connection.answer(), 413, "body_too_large");
		expect(refusal.error).toContain(`over ${limit} bytes`);
		// Nothing more can come: the service closes the connection.
		await connection.closed;
	});

	it("D3: without a key the size is not shown, 401", async () => {
		const connection = await rawConnection(service.url);
		connection.write(
			requestText({
				method: "POST",
				path: `/v2/ep/${operation}`,
				headers: { "Content-Length": String(limit + 1) },
			}),
		);
		expectError(await connection.answer(), 401, "unauthorized");
		connection.socket.destroy();
	});
});

/** Submits until refused, at most `most` times; answers how many were taken. */
async function fill(endpoint: string, most: number): Promise<number> {
	for (let taken = 0; taken < most; taken += 1) {
		const answer = await call(service.url, `/v2/${endpoint}/run`, { body: { input: {} } });
		if (answer.status === 200) continue;
		const body = expectError(answer, 429, "queue_full");
		expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
		expect(body.error).toContain(endpoint);
		return taken;
	}
	return most;
}

describe("the bound of the queue", () => {
	it("spec 8.2, D23: without workers a submission is refused when over 50 jobs wait: the 52nd", async () => {
		expect(await fill("none", 60)).toBe(51);
		expectError(await call(service.url, "/v2/none/runsync", { body: { input: {} } }), 429, "queue_full");
		expect((await call(service.url, "/v2/none/health")).json.jobs.inQueue).toBe(51);
	});

	it("D23: the bound of the endpoint, when over that many wait", async () => {
		expect(await fill("three", 10)).toBe(4);
		expect(await fill("zero", 10)).toBe(1);
	});

	it("D23: without a bound nothing is refused", async () => {
		expect(await fill("off", 60)).toBe(60);
	});

	it("D23: a place is free again when a job is cancelled or taken; running jobs do not count", async () => {
		expect(await fill("three", 1)).toBe(0);
		const worker = await handWorker(service, "three");
		const taken = await worker.take();
		expect(await fill("three", 10)).toBe(1);
		await call(service.url, `/v2/three/cancel/${taken!.id}`, { method: "POST" });
		expect(await fill("three", 10)).toBe(0);
		const again = await worker.take({ busy: true });
		expect(again).toBeDefined();
		expect(await fill("three", 10)).toBe(1);
	});

	it("D23: exact when many come at once", async () => {
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => call(service.url, "/v2/back/run", { body: { input: {} } })),
		);
		expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
		for (const answer of answers.filter(({ status }) => status !== 200)) expectError(answer, 429, "queue_full");
	});

	it("D23: a job that returns after a loss is never refused, though the queue is full", async () => {
		const worker = await handWorker(service, "back");
		const taken = (await worker.take())!;
		expect(await fill("back", 10)).toBe(1);
		const returned = service.next("job.returned", ({ id }) => id === taken.id);
		// A take that says nothing is in progress proves the job lost; the poll then gets the other
		// one.
		await Promise.all([returned, worker.take()]);
		expect((await call(service.url, `/v2/back/status/${taken.id}`)).json).toMatchObject({
			status: expect.stringMatching(/IN_QUEUE|IN_PROGRESS/),
			retries: 1,
		});
	});

	it("D23: /runsync counts like /run", async () => {
		await submitted(service, "sync");
		expectError(await call(service.url, "/v2/sync/runsync", { body: { input: {} } }), 429, "queue_full");
		expectError(await call(service.url, "/sdk/v2/sync/run", { body: { input: {} } }), 429, "queue_full");
	});
});
