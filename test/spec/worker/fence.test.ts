/**
 * Reports of workers that no longer hold the job, or never did, and repeats (D16 Fence, D7 repeats;
 * protocol B.5, B.6, B.8).
 */
import { advanceUntil } from "../../support/manual-clock.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Answer, SdkProtocol } from "../../support/sdk-protocol.ts";
import { bench, type Bench, idsOf } from "../../support/sdk-worker-bench.ts";

const LEASE_MS = 20_000;
const PING_MS = 5000;

let b: Bench;
/** Reports dropped so far, on all endpoints. */
let drops = 0;
beforeAll(async () => {
	b = await bench();
	b.service.events.on("report.dropped", () => (drops += 1));
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

/** Everything that a late worker may post. */
const POSTS: [string, (worker: SdkProtocol, id: string) => Promise<Answer>][] = [
	["a result", (worker, id) => worker.done(id, { output: "late" })],
	["an error", (worker, id) => worker.done(id, { error: "late" })],
	["progress", (worker, id) => worker.done(id, { status: "IN_PROGRESS", output: "late" })],
	["a chunk", (worker, id) => worker.chunk(id, { output: "late" })],
	["a result that is not JSON", (worker, id) => worker.done(id, "NaN")],
	["a chunk that is not JSON", (worker, id) => worker.chunk(id, "NaN")],
];

/** Everything a client sees of the job. */
async function seen(id: string): Promise<unknown> {
	const [status, chunks] = [
		await b.status(id),
		await b.call(`stream/${id}?offset=0&wait=1000`, { headers: { accept: "application/json" } }),
	];
	return { status, chunks: chunks.json };
}

/** Posts each and checks that it is 200 and that the job looks the same to clients afterwards. */
async function allDropped(worker: SdkProtocol, id: string): Promise<void> {
	const before = await b.status(id);
	for (const [what, post] of POSTS) {
		const dropped = drops;
		const answer = await post(worker, id);
		expect(answer.status, `${what}: ${answer.text}`).toBe(200);
		expect(await b.status(id), what).toEqual(before);
		expect(drops, what).toBe(dropped + 1);
	}
}

/** A job whose attempt at `worker` was lost because its lease ended, `streamed`: after its first chunk. */
async function lostAt(worker: SdkProtocol, { streamed = false } = {}): Promise<string> {
	const id = await b.submit();
	await b.takes(worker, id);
	if (streamed) await worker.chunk(id, { output: "a" });
	await b.clock.advance(LEASE_MS);
	expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	return id;
}

describe("D16: what a worker posts that lost the job counts while the job waits", () => {
	const ends: [string, object][] = [
		["a result", { status: "COMPLETED", output: "late" }],
		["an error", { status: "FAILED", error: "late" }],
		["progress", { status: "IN_PROGRESS", output: "late" }],
		["a chunk", { status: "IN_PROGRESS" }],
		["a result that is not JSON", { status: "FAILED" }],
		["a chunk that is not JSON", { status: "FAILED" }],
	];

	it.each(ends)("%s", async (what, status) => {
		const late = await b.worker();
		const id = await lostAt(late);
		await b.clock.advance(5000);
		const [, post] = POSTS.find(([name]) => name === what)!;
		expect((await post(late, id)).status).toBe(200);
		expect(await b.status(id)).toMatchObject({ ...status, workerId: late.id, delayTime: 0, executionTime: 25_000 });
	});

	it("a generator goes on, and its result has all of its chunks", async () => {
		const late = await b.worker();
		const id = await lostAt(late);
		for (const output of ["a", "b"]) await late.chunk(id, { output });
		await late.done(id, { output: [] });
		const { json } = await b.call(`stream/${id}?offset=0&wait=1000`, { headers: { accept: "application/json" } });
		expect(json).toMatchObject([{ output: "a" }, { output: "b" }]);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: [] });
	});

	it("not for a job that has chunks: it runs again, and no stream has a gap", async () => {
		const [late, other] = [await b.worker(), await b.worker()];
		const id = await lostAt(late, { streamed: true });
		await allDropped(late, id);
		await b.takes(other, id);
	});
});

describe("D16: what a worker posts that lost the job is 200 and changes nothing", () => {
	it("while another worker runs it, and that one's result counts", async () => {
		const [late, other] = [await b.worker(), await b.worker()];
		const id = await lostAt(late);
		await b.takes(other, id);
		await allDropped(late, id);
		await other.done(id, { output: "right" });
		expect(await b.status(id)).toMatchObject({
			status: "COMPLETED",
			output: "right",
			workerId: other.id,
			retries: 1,
		});
	});

	it("after another worker has finished it", async () => {
		const [late, other] = [await b.worker(), await b.worker()];
		const id = await lostAt(late);
		await b.takes(other, id);
		await other.chunk(id, { output: "right" });
		await other.done(id, { output: "right" });
		const before = await seen(id);
		await allDropped(late, id);
		expect(await seen(id)).toEqual(before);
	});

	it("a late chunk does not renew the lease of the worker that has the job", async () => {
		const [late, other] = [await b.worker(), await b.worker()];
		const id = await lostAt(late);
		await b.takes(other, id);
		await b.clock.advance(LEASE_MS - 1);
		for (const [, post] of POSTS) await post(late, id);
		await late.ping([id]);
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 2 });
	});
});

describe("D16: posts for a job never handed to this worker are 200 and change nothing", () => {
	it("another worker runs it", async () => {
		const [owner, stranger] = [await b.worker(), await b.worker()];
		const id = await b.submit();
		await b.takes(owner, id);
		await allDropped(stranger, id);
		await owner.done(id, { output: 1 });
		await allDropped(stranger, id);
	});

	it("it waits", async () => {
		const stranger = await b.worker();
		const id = await b.submit();
		await allDropped(stranger, id);
		await b.takes(stranger, id);
	});

	it("it does not exist, or its id is no id", async () => {
		const worker = await b.worker();
		for (const id of ["0190b5a0-0000-7000-8000-000000000000", "x", "a%20b"]) {
			for (const [what, post] of POSTS) expect((await post(worker, id)).status, `${id}: ${what}`).toBe(200);
		}
	});

	it("it belongs to another endpoint", async () => {
		const [owner, stranger] = [await b.worker(), await b.worker(await b.endpoint())];
		const id = await b.submit();
		await b.takes(owner, id);
		await allDropped(stranger, id);
	});
});

describe("D16: ONE worker gets a job again only when its earlier attempt is known to be over there", () => {
	let worker: SdkProtocol;
	let id: string;
	let again: { answer: Promise<Answer> };
	let answered: boolean;

	/** The job waits, the worker polls, and is not given it. */
	beforeEach(async () => {
		worker = await b.worker();
		id = await lostAt(worker);
		const later = await b.submit();
		await b.takes(worker, later, { busy: true });
		await worker.done(later, {});
		again = await b.held(worker, (signal) => worker.take({ busy: true, signal }));
		answered = false;
		again.answer.then(
			() => (answered = true),
			() => {},
		);
		await b.clock.advance(PING_MS);
		await worker.ping([id]);
		await b.clock.advance(PING_MS);
		expect(answered).toBe(false);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
	});

	/**
	 * It has the job now; a late report of the first attempt would be the new one's, and only the new
	 * result counts.
	 */
	async function gotIt(): Promise<void> {
		expect(idsOf(await b.reached(again.answer))).toEqual([id]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
		await worker.ping([id]);
		await worker.done(id, { output: "second" });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "second", retries: 1 });
	}

	it("its late report came: the job has ended, and no take gets it", async () => {
		expect((await worker.done(id, { output: "first" })).status).toBe(200);
		await b.clock.advance(6000);
		expect(answered).toBe(false);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "first", retries: 1 });
	});

	it("a progress or a chunk shows that it still runs: not yet", async () => {
		await worker.done(id, { status: "IN_PROGRESS", output: 1 });
		await worker.chunk(id, { output: 1 });
		await b.clock.advance(6000);
		expect(answered).toBe(false);
	});

	it("two pings omit it; one is not enough, nor two that are not successive", async () => {
		for (const named of [[], [id], []]) {
			await b.clock.advance(PING_MS);
			await worker.ping(named);
		}
		await b.clock.advance(LEASE_MS - PING_MS - 1);
		await worker.ping();
		expect(answered).toBe(false);
		for (let n = 0; n < 2; n += 1) {
			await b.clock.advance(PING_MS);
			await worker.ping();
		}
		await gotIt();
	});

	it("a take with job_in_progress=0", async () => {
		await b.clock.advance(40_000);
		expect((await b.reached(again.answer)).status).toBe(204);
		again = { answer: worker.take({ busy: false }) };
		await gotIt();
	});

	it("another worker need not wait", async () => {
		const other = await b.worker();
		await b.takes(other, id);
		expect(answered).toBe(false);
	});
});

describe("D16: the word that an earlier attempt is over and the take that gets the job again are one commit", () => {
	type At = Parameters<typeof b.service.engine.jobs.ping>[0]["worker"];
	it.each<[what: string, pings: number, say: (worker: At, id: string) => Promise<void>]>([
		[
			"a late result of a job that has chunks",
			0,
			(worker, id) =>
				b.service.engine.jobs.report({
					worker,
					id,
					report: { kind: "end", on: "complete", restart: false },
				}),
		],
		["the second ping that omits it", 1, (worker) => b.service.engine.jobs.ping({ worker, said: { named: [] } })],
	])("%s: the job stays in the worker's hands", async (_, pings, say) => {
		const late = await b.worker();
		const id = await lostAt(late, { streamed: true });
		for (let n = 0; n < pings; n += 1) {
			await b.clock.advance(PING_MS);
			await late.ping();
		}
		await b.clock.advance(PING_MS);
		const worker = b.service.engine.workers.recordCall(late);
		const said = say(worker, id);
		const jobs = await b.service.engine.jobs.take({
			worker,
			limit: 1,
			idle: false,
			signal: new AbortController().signal,
		});
		await said;
		expect(jobs).toMatchObject([{ id, attempt: 2 }]);
		expect(worker.held.get(id)).toMatchObject({ attempt: 2 });
	});
});

describe("B.6: repeats", () => {
	it("a result posted twice is kept once, the first", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await worker.done(id, { output: 1 });
		const before = await b.status(id);
		for (const body of [{ output: 1 }, { output: 2 }, { error: "no" }])
			expect((await worker.done(id, body)).status).toBe(200);
		expect(await b.status(id)).toEqual(before);
		expect(b.of("job.settled")).toHaveLength(1);
		expect((await b.call(`health`)).json.jobs).toMatchObject({
			completed: 1,
			failed: 0,
			inProgress: 0,
		});
	});

	it("D7: a chunk without an answer is dropped when it is repeated, an equal one after an answer kept", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		const chunks = async (): Promise<unknown[]> =>
			(await b.call(`stream/${id}?offset=0`)).json.map((chunk: { output: unknown }) => chunk.output);
		await worker.chunk(id, { output: "a" });
		await worker.chunk(id, { output: "a" });
		expect(await chunks()).toEqual(["a", "a"]);
		// The connection goes once the request is out: kept, but the answer cannot be written.
		const cut = new AbortController();
		const unanswered = worker.chunk(id, { output: "b" }, { signal: cut.signal });
		setImmediate(() => cut.abort());
		await expect(unanswered).rejects.toThrow("aborted");
		await b.reached(keptThree());
		await worker.chunk(id, { output: "b" });
		expect(await chunks()).toEqual(["a", "a", "b"]);
		await worker.chunk(id, { output: "b" });
		expect(await chunks()).toEqual(["a", "a", "b", "b"]);

		async function keptThree(): Promise<void> {
			await advanceUntil(b.clock, async () => (await chunks()).length >= 3, 0);
		}
	});
});
