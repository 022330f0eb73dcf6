/** Several processes that use one worker id, and what their takes and pings prove about one another's jobs (D16). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench, idsOf } from "../../support/sdk-worker-bench.ts";
import { type SdkProtocol, sdkProtocol } from "../../support/sdk-protocol.ts";
import { call } from "../../support/service.ts";

const LEASE_MS = 20_000;
const PING_MS = 5000;
const HOLD_MS = 50_000;

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

/** Further processes with the variables of this worker. */
const copyOf = ({ env }: SdkProtocol): SdkProtocol => sdkProtocol(env);

const shown = async ({ id }: SdkProtocol): Promise<any> =>
	(await call(b.url, `/v1/endpoints/${b.ep}/workers`)).json.workers.find((worker: { id: string }) => worker.id === id);

/** For each interval both ping, some ms apart: the first names its job, the others name theirs. */
async function bothPing(intervals: number, pings: [worker: SdkProtocol, named: string[]][]): Promise<void> {
	const apart = Math.floor(PING_MS / pings.length);
	for (let n = 0; n < intervals; n += 1) {
		for (const [at, [worker, named]] of pings.entries()) {
			await b.pass(at < pings.length - 1 ? apart : PING_MS - apart * (pings.length - 1));
			await worker.ping(named);
		}
	}
}

describe("D16: two processes with one worker id", () => {
	it("that ping: the idle one takes no job from the other, gets the next one, and both finish", async () => {
		const first = await b.worker();
		const second = copyOf(first);
		await first.ping();
		await second.ping();
		const one = await b.submit();
		await b.takes(first, one);
		await b.pass(400);
		const poll = await b.held(second, (signal) => second.take({ signal }));
		await bothPing(6, [
			[first, [one]],
			[second, []],
		]);
		expect(await b.status(one)).toMatchObject({ status: "IN_PROGRESS", workerId: first.id });
		const next = await b.submit();
		expect(idsOf(await b.reached(poll.answer))).toEqual([next]);
		await bothPing(10, [
			[first, [one]],
			[second, [next]],
		]);
		await first.done(one, { output: "first" });
		const free = await b.held(first, (signal) => first.take({ signal }));
		await bothPing(5, [
			[first, []],
			[second, [next]],
		]);
		expect(await b.status(next)).toMatchObject({ status: "IN_PROGRESS" });
		await second.done(next, { output: "second" });
		for (const [id, output] of [
			[one, "first"],
			[next, "second"],
		] as const) {
			const ended = await b.status(id);
			expect(ended).toMatchObject({ status: "COMPLETED", output });
			expect(ended).not.toHaveProperty("retries");
		}
		await free.hangUp();
	});

	it.each([
		["5 s, of which two are lost", undefined, [5000, 15_000]],
		["10 s and a little, as the SDK's default", undefined, [10_050, 10_050]],
		["15 s, of a lease of 60 s", 60_000, [15_000, 15_000, 45_000]],
	])("the busy one keeps its job by pings within the lease: each %s", async (_, leaseMs, gaps) => {
		await b.fresh({ ...(leaseMs !== undefined && { leaseMs }) });
		const first = await b.worker();
		const second = copyOf(first);
		await first.ping();
		await second.ping();
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(100);
		const poll = await b.held(second, (signal) => second.take({ signal }));
		for (const ms of gaps) {
			await b.pass(ms);
			await first.ping([id]);
		}
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		expect(await b.status(id)).not.toHaveProperty("retries");
		await poll.hangUp();
	});

	it("are named: once in the log, in lists of workers and in the timeline of the job", async () => {
		const first = await b.worker();
		const second = copyOf(first);
		await first.ping();
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(400);
		await b.held(second, (signal) => second.take({ signal }));
		expect(b.of("worker.shared")).toEqual([]);
		await bothPing(4, [
			[first, [id]],
			[second, []],
		]);
		expect(b.of("worker.shared")).toEqual([{ endpoint: b.ep, worker: first.id }]);
		const remedy = "start each with variables of its own from `sluice worker-env`";
		const said = `two processes use the worker id ${first.id}: ${remedy}`;
		expect((await shown(first)).warning).toContain(said);
		const { timeline } = (await call(b.url, `/v1/endpoints/${b.ep}/jobs/${id}`)).json;
		expect(timeline).toContainEqual(
			expect.objectContaining({ event: "worker_shared", workerId: first.id, message: `T${said.slice(1)}.` }),
		);
	});

	it("three of them: two that omit the job one after the other prove nothing", async () => {
		const first = await b.worker();
		const [second, third] = [copyOf(first), copyOf(first)];
		for (const each of [first, second, third]) await each.ping();
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(PING_MS);
		// Before the first ping of the one that has the job.
		await second.ping();
		await b.pass(50);
		await third.ping();
		await b.pass(50);
		await bothPing(8, [
			[first, [id]],
			[second, []],
			[third, []],
		]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", executionTime: expect.any(Number) });
		expect(await b.status(id)).not.toHaveProperty("retries");
	});

	it("the end of the idle one, whose polls are cut, is not the end of the busy one that pings", async () => {
		const first = await b.worker();
		const second = copyOf(first);
		await first.ping();
		const early = await b.held(first, (signal) => first.take({ signal }));
		await b.pass(HOLD_MS);
		await b.reached(early.answer);
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(400);
		const polls = [
			await b.held(second, (signal) => second.take({ signal })),
			await b.held(second, (signal) => second.stop({ signal })),
		];
		await bothPing(2, [
			[first, [id]],
			[second, []],
		]);
		for (const poll of polls.toReversed()) await poll.hangUp();
		await bothPing(20, [[first, [id]]]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		expect(b.of("worker.unhealthy")).toEqual([]);
	});

	it("the idle one does not end the stop of the other's job, neither by a take nor by pings", async () => {
		const first = await b.worker();
		const second = copyOf(first);
		await first.ping();
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(PING_MS);
		await first.ping([id]);
		await b.call(`cancel/${id}`, { method: "POST" });
		await b.held(second, (signal) => second.take({ signal }));
		await bothPing(4, [
			[first, [id]],
			[second, []],
		]);
		expect((await first.stop()).text).toContain(id);
		const { attempts } = (await call(b.url, `/v1/endpoints/${b.ep}/jobs/${id}`)).json;
		expect(attempts).toMatchObject([{ stop: "unconfirmed" }]);
	});

	it("that never ping: the lease decides, and the poll of the idle one does not keep it", async () => {
		const first = await b.worker();
		const second = copyOf(first);
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(500);
		const poll = await b.held(second, (signal) => second.take({ signal }));
		await b.pass(LEASE_MS - 1000);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.pass(PING_MS + 500);
		expect(idsOf(await b.reached(poll.answer))).toEqual([id]);
		expect(await b.status(id)).toMatchObject({ retries: 1 });
	});
});

describe("D16: one process with its worker id", () => {
	it("that was started again gets its job a lease after the last ping that named it", async () => {
		const before = await b.worker();
		await before.ping();
		const id = await b.submit();
		await b.takes(before, id);
		await b.pass(PING_MS);
		await before.ping([id]);
		const { answer } = await b.held(copyOf(before), (signal) => copyOf(before).take({ signal }));
		await b.pass(LEASE_MS - 1);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.pass(PING_MS);
		expect(idsOf(await b.reached(answer))).toEqual([id]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
		expect(b.of("worker.shared")).toEqual([]);
	});

	it.each([
		["never pings", {}, []],
		["never pings, and has a lease of ten minutes", { leaseMs: 600_000 }, []],
		["pings, none of which named the job", {}, [[], []]],
	])(
		"gets a job again at once that timed out, when it takes with nothing in progress: %s",
		async (_, settings, pings) => {
			await b.fresh(settings);
			const worker = await b.worker();
			for (const named of pings) await worker.ping(named);
			const id = await b.submit({ input: {}, policy: { executionTimeout: 6000 } });
			await b.takes(worker, id);
			const stop = await b.held(worker, (signal) => worker.stop({ signal }));
			await b.pass(7000);
			expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT" });
			const { answer } = await b.held(worker, (signal) => worker.take({ signal }));
			await b.call(`retry/${id}`, { method: "POST" });
			expect(idsOf(await b.reached(answer))).toEqual([id]);
			await stop.hangUp();
		},
	);

	it("gets a job again that timed out a lease after the last ping that named it", async () => {
		const worker = await b.worker();
		await worker.ping();
		const id = await b.submit({ input: {}, policy: { executionTimeout: 6000 } });
		await b.takes(worker, id);
		await b.pass(PING_MS);
		await worker.ping([id]);
		await b.pass(PING_MS);
		const { answer } = await b.held(worker, (signal) => worker.take({ signal }));
		await b.call(`retry/${id}`, { method: "POST" });
		await b.pass(LEASE_MS - PING_MS - 1);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
		await b.pass(PING_MS);
		expect(idsOf(await b.reached(answer))).toEqual([id]);
	});

	it("whose take a proxy delivers late or again keeps its job", async () => {
		const worker = await b.worker();
		await worker.ping();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.pass(1);
		// The proxy hangs up as soon as the worker does not wait for it any more.
		await (await b.held(worker, (signal) => worker.take({ signal }))).hangUp();
		for (let n = 0; n < 6; n += 1) {
			await b.pass(PING_MS);
			await worker.ping([id]);
		}
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		expect(await b.status(id)).not.toHaveProperty("retries");
	});

	it("that drains while its replacement polls finishes its job", async () => {
		const old = await b.worker();
		const replacement = copyOf(old);
		await old.ping();
		const id = await b.submit();
		await b.takes(old, id);
		await b.pass(PING_MS);
		await b.held(replacement, (signal) => replacement.take({ signal }));
		await bothPing(3, [
			[old, [id]],
			[replacement, []],
		]);
		await old.done(id, { output: "done" });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "done" });
	});
});
