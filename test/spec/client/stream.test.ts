/** Section 2.7, /stream: its two JSON forms, its waits, and each chunk delivered once. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import {
	atOnce,
	begun,
	endpointsByName,
	endWith,
	expectError,
	handWorker,
	type HandWorker,
	submitted,
} from "../hand-worker.ts";
import { rawConnection, requestText, stalledReader } from "../raw-http.ts";

const clock = manualClock();
const LEASE_MS = 20_000;
const unused = endpointsByName(40);
let service: TestService;
/** A running job of an endpoint of its own for each test. */
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

const path = (query = "", prefix = "/v2"): string => `${prefix}/${ep}/stream/${id}${query}`;
const read = (query = "", init: Parameters<typeof call>[2] = {}): ReturnType<typeof call> =>
	call(service.url, path(query), init);
const chunk = (output: unknown): object => ({ output, metrics: {} });

/** What an answer says: chunks' outputs, state, next number. */
function contentOf({ json, headers }: { json: any; headers: Headers }): {
	outputs: unknown[];
	state: string | null;
	next: number;
} {
	const chunks: { output: unknown }[] = Array.isArray(json) ? json : json.stream;
	return {
		outputs: chunks.map(({ output }) => output),
		state: headers.get("sluice-job-status"),
		next: Number(headers.get("sluice-next-offset")),
	};
}

describe("the shape", () => {
	beforeEach(async () => {
		await worker.chunk(id, { output: { text: ["a"] }, metrics: { stream_index: 0 } });
	});
	const CHUNK = { output: { text: ["a"] }, metrics: { stream_index: 0 } };

	it.each<[string, Parameters<typeof call>[2]]>([
		["a plain GET", {}],
		["python-requests", { headers: { "user-agent": "python-requests/2.28" } }],
		["an X-Request-ID that is not the job's", { headers: { "x-request-id": "other" } }],
		["a user agent that only contains RunPod-", { headers: { "user-agent": "x RunPod-JS" } }],
	])("spec 2.7, D7: %s on /v2 gets the bare array", async (_, init) => {
		expect((await read("", init)).json).toEqual([CHUNK]);
	});

	it.each<[string, string, (id: string) => Parameters<typeof call>[2]]>([
		["GET under /sdk/v2", "/sdk/v2", () => ({})],
		["POST under /sdk/v2", "/sdk/v2", () => ({ method: "POST" })],
		["POST", "/v2", () => ({ method: "POST" })],
		["POST with an empty JSON body", "/v2", () => ({ method: "POST", text: "" })],
		[
			"a user agent that begins with RunPod-",
			"/v2",
			() => ({ headers: { "user-agent": "RunPod-JS-SDK/1.1.2 (Unknown Environment)" } }),
		],
		["X-Request-ID with the job's id", "/v2", (job) => ({ headers: { "x-request-id": job } })],
	])("D7: %s gets the object", async (_, prefix, init) => {
		expect((await call(service.url, path("", prefix), init(id))).json).toEqual({
			status: "IN_PROGRESS",
			stream: [CHUNK],
		});
	});

	it("D7: a chunk without metrics has empty ones; without output it has null", async () => {
		await worker.chunk(id, { output: 1 });
		await worker.chunk(id, { output: 2, metrics: null });
		await worker.chunk(id, { output: 3, metrics: "x" });
		await worker.chunk(id, {});
		expect((await read("?offset=1")).json).toEqual([chunk(1), chunk(2), chunk(3), chunk(null)]);
	});

	it("D5: output and metrics stand byte for byte", async () => {
		const [output, metrics] = ['{ "b":1.0,"a":12345678901234567890, "b":"\\u00e9" }', '{"x": 1e2 }'];
		await worker.chunk(id, `{"metrics":${metrics},"output":${output}}`);
		expect((await read("?offset=1")).text).toBe(`[{"output":${output},"metrics":${metrics}}]`);
	});
});

describe("waiting", () => {
	it.each([
		["", 5000],
		["?wait=1000", 1000],
		["?wait=1", 1000],
		["?wait=60000", 60_000],
		["?wait=999999999", 300_000],
		["?offset=0", 5000],
		["?offset=0&wait=2000", 2000],
	])("D7: with nothing to return, %j is answered after %d ms with nothing", async (query, ms) => {
		const held = await begun(service.url, path(query));
		for (let left = ms - 1; left > 0; left -= 10_000) {
			await clock.advance(Math.min(left, 10_000));
			await worker.ping(id);
		}
		expect(held.over()).toBe(false);
		await clock.advance(1);
		expect(contentOf(await atOnce(clock, held.answer))).toEqual({
			outputs: [],
			state: "IN_PROGRESS",
			next: 0,
		});
	});

	it("D7: a waiting job is waited for, and returned as IN_QUEUE", async () => {
		const waiting = await submitted(service, ep);
		const held = await begun(service.url, `/v2/${ep}/stream/${waiting}`);
		await clock.advance(5000);
		expect(contentOf(await atOnce(clock, held.answer))).toMatchObject({
			outputs: [],
			state: "IN_QUEUE",
		});
	});

	it.each(["", "?offset=0"])("D7: a chunk ends the wait of %j at once", async (query) => {
		const held = await begun(service.url, path(query));
		await worker.chunk(id, { output: "a" });
		expect(contentOf(await held.answer)).toEqual({ outputs: ["a"], state: "IN_PROGRESS", next: 1 });
	});

	it.each(["done", "failed", "cancelled"])("D7: so does the end of the job: %s", async (how) => {
		const held = await begun(service.url, path());
		if (how === "cancelled") await call(service.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		else await worker.done(id, how === "done" ? { output: [] } : { error: "x" });
		expect(contentOf(await held.answer)).toMatchObject({
			outputs: [],
			state: { done: "COMPLETED", failed: "FAILED", cancelled: "CANCELLED" }[how],
		});
	});

	it.each(["-1", "1.5", "abc", "", "1e3", "9999999999999999"])("D7: offset=%j is 400 and names it", async (offset) => {
		expectError(await read(`?offset=${offset}`), 400, "bad_query", ["offset"]);
	});
});

describe("delivery", () => {
	it("D7: each read gives the chunks not delivered yet, the last ones with the final state", async () => {
		await worker.chunk(id, { output: 1 });
		await worker.chunk(id, { output: 2 });
		expect(contentOf(await read())).toEqual({ outputs: [1, 2], state: "IN_PROGRESS", next: 2 });
		await worker.chunk(id, { output: 3 });
		await worker.done(id, { output: [] });
		const last = await call(service.url, path("", "/sdk/v2"));
		expect(last.json).toEqual({ status: "COMPLETED", stream: [chunk(3)] });
		for (let round = 0; round < 3; round += 1) {
			const after = await read();
			expect(after.json).toEqual([]);
			expect(contentOf(after)).toEqual({ outputs: [], state: "COMPLETED", next: 3 });
			expect((await call(service.url, path("", "/sdk/v2"))).json).toEqual({
				status: "COMPLETED",
				stream: [],
			});
		}
	});

	it("D7: reads with offset move nothing, as often as wanted, also after the end", async () => {
		for (const output of ["a", "b", "c"]) await worker.chunk(id, { output });
		for (const at of [0, 1, 2, 0])
			expect(contentOf(await read(`?offset=${at}`))).toEqual({
				outputs: ["a", "b", "c"].slice(at),
				state: "IN_PROGRESS",
				next: 3,
			});
		expect(contentOf(await read()).outputs).toEqual(["a", "b", "c"]);
		await worker.done(id, {});
		expect(contentOf(await read("?offset=0"))).toEqual({
			outputs: ["a", "b", "c"],
			state: "COMPLETED",
			next: 3,
		});
		expect(contentOf(await read("?offset=3"))).toMatchObject({ outputs: [], state: "COMPLETED" });
	});

	it("D7: equal chunks one after the other are two chunks", async () => {
		for (let round = 0; round < 2; round += 1) await worker.chunk(id, { output: "same" });
		expect(contentOf(await read()).outputs).toEqual(["same", "same"]);
	});

	it("D7: readers at once share the chunks, each delivered once, in order, all forms together", async () => {
		const total = 60;
		const got: unknown[][] = [];
		const readers = ["/v2", "/v2", "/sdk/v2"].map(async (prefix, reader) => {
			got[reader] = [];
			for (;;) {
				const { outputs, state } = contentOf(await call(service.url, path("", prefix)));
				got[reader].push(...outputs);
				if (state === "COMPLETED" && outputs.length === 0) return;
			}
		});
		for (let output = 0; output < total; output += 1) await worker.chunk(id, { output });
		await worker.done(id, {});
		await atOnce(clock, Promise.all(readers));
		expect(got.flat().toSorted((a, b) => Number(a) - Number(b))).toEqual(
			Array.from({ length: total }, (_, index) => index),
		);
		for (const outputs of got) expect(outputs.toSorted((a, b) => Number(a) - Number(b))).toEqual(outputs);
	});

	it("D7: a reader that hangs up while it waits takes nothing with it", async () => {
		const connection = await rawConnection(service.url);
		connection.write(requestText({ method: "GET", path: path(), headers: { Authorization: KEY } }));
		connection.socket.destroy();
		await connection.closed;
		await worker.chunk(id, { output: "a" });
		expect(contentOf(await read()).outputs).toEqual(["a"]);
	});

	it("D7: when a reader's connection dies before its range was written, the range is sent again", async () => {
		const large = "x".repeat(900_000);
		for (let count = 0; count < 16; count += 1) await worker.chunk(id, { output: `${count}${large}` });
		const dying = await stalledReader(
			service.url,
			requestText({ method: "GET", path: path(), headers: { Authorization: KEY } }),
		);
		const held = await begun(service.url, path("?wait=300000"));
		await clock.advance(1000);
		expect(held.over()).toBe(false);
		dying.destroy();
		const { outputs, next } = contentOf(await atOnce(clock, held.answer));
		expect(outputs).toHaveLength(16);
		expect(next).toBe(16);
	});

	it("D7: a reader that waits without effect for another's range gets nothing, and no restart event", async () => {
		await worker.chunk(id, { output: "first" });
		await read();
		for (let count = 0; count < 16; count += 1) await worker.chunk(id, { output: "x".repeat(900_000) });
		const slow = await stalledReader(
			service.url,
			requestText({ method: "GET", path: path(), headers: { Authorization: KEY } }),
		);
		const held = await begun(service.url, path("?wait=1000"));
		await clock.advance(1000);
		const answer = await atOnce(clock, held.answer);
		slow.destroy();
		expect(contentOf(answer)).toMatchObject({ outputs: [], state: "IN_PROGRESS" });
		expect(contentOf(answer).next).toBeGreaterThanOrEqual(1);
	});

	it("D7: after a loss the chunks not delivered are dropped, and their numbers are not used again", async () => {
		await worker.chunk(id, { output: "a" });
		expect(contentOf(await read()).outputs).toEqual(["a"]);
		await worker.chunk(id, { output: "lost" });
		await clock.advance(LEASE_MS);
		await worker.takeThis(id);
		await worker.chunk(id, { output: "b" });
		expect(contentOf(await read())).toEqual({ outputs: ["b"], state: "IN_PROGRESS", next: 3 });
		expect(contentOf(await read("?offset=1"))).toMatchObject({ outputs: ["b"], next: 3 });
	});

	it("D16: chunks of a worker that does not hold the job are answered 200 and dropped", async () => {
		const other = await handWorker(service, ep);
		await other.chunk(id, { output: "not mine" });
		await worker.done(id, {});
		await worker.chunk(id, { output: "too late" });
		expect(contentOf(await read())).toEqual({ outputs: [], state: "COMPLETED", next: 0 });
	});
});
