/**
 * Lanes of waiting workers over a queue that the test makes: who gets jobs, when a claim is made,
 * what happens to those who leave.
 */
import { describe, expect, it } from "vitest";
import { newJob } from "../../../core/jobs/job.ts";
import { eventBus } from "../../../events.ts";
import { backgroundTasks } from "../../../system/loop.ts";
import { type Store, StoreUnavailable } from "../../../store/contract/store.ts";
import type { Claim, Claimed, JobStore } from "../../../store/contract/jobs.ts";
import { Dispatch, requeueUndelivered } from "./dispatch.ts";
import { type Worker, workerRegistry } from "../../workers/worker-registry.ts";
import { closeWorker } from "../../workers/worker-transitions.ts";

/** A queue in memory whose claims are answered when the test says so, or at once. */
function sample({ held = false }: { held?: boolean } = {}) {
	const events = eventBus();
	const present = workerRegistry(events);
	const queue: string[] = [];
	const fenced = new Map<string, string>();
	const claims: { worker: string; limit: number }[] = [];
	const answers: (() => void)[] = [];
	const released: string[] = [];
	const started: string[] = [];
	let paused = false;
	let fault: Error | undefined;
	events.on("job.started", ({ id, worker }) => started.push(`${id} to ${worker}`));

	const claim: JobStore["claim"] = async ({ endpoint, worker, limit, now }) => {
		claims.push({ worker, limit });
		if (held) await new Promise<void>((resolve) => answers.push(resolve));
		if (fault) throw fault;
		const free = queue.filter((id) => fenced.get(id) !== worker);
		const jobs = free.slice(0, limit).map((id): Claimed => {
			queue.splice(queue.indexOf(id), 1);
			const job = newJob(
				{
					id,
					endpoint,
					operation: "run",
					lowPriority: false,
					ttlMs: 1,
					executionTimeoutMs: 1,
					leaseMs: 1,
					retainMs: 1,
					recordMs: 1,
				},
				now,
			);
			return {
				job: { ...job, state: "IN_PROGRESS", attempt: 1, worker, startedAt: now },
				input: "{}",
			};
		});
		const answer: Claim = {
			jobs,
			fenced: jobs.length < limit && free.length < queue.length + jobs.length,
		};
		return answer;
	};
	const lanes = new Dispatch({
		store: { jobs: { claim } as JobStore } as Store,
		now: () => 1,
		events,
		paused: () => paused,
		releaseOf: () => undefined,
		background: backgroundTasks((_, error) => {
			throw error;
		}),
		requeue: async (worker, jobs) => {
			released.push(...jobs.map(({ id }) => `${id} of ${worker.id}`));
			return [];
		},
	});

	return {
		lanes,
		queue,
		claims,
		released,
		started,
		fenced,
		answers,
		pause: (on: boolean) => (paused = on),
		failWith: (error?: Error) => (fault = error),
		worker: (id: string, endpoint = "e"): Worker => present.meet({ id, endpoint, ready: true, now: 0 }),
		take(worker: Worker, limit = 1) {
			let leave = (): void => {};
			const left = new Promise<void>((resolve) => (leave = resolve));
			const jobs = lanes.take({ worker, limit, ended: left }).then((found) => found.map(({ job }) => job.id));
			return { jobs, leave };
		},
		add(...ids: string[]) {
			for (const id of ids) {
				queue.push(id);
				lanes.announce("e");
			}
		},
	};
}

/** Lets promises that are ready run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("dispatch", () => {
	it("a job that is there already goes to the first worker that asks", async () => {
		const s = sample();
		s.queue.push("a");
		expect(await s.take(s.worker("w")).jobs).toEqual(["a"]);
		expect(s.started).toEqual(["a to w"]);
		expect(s.worker("w").held.get("a")).toEqual({ attempt: 1, handedAt: 1 });
	});

	it("workers are served in the order in which they asked", async () => {
		const s = sample();
		const takes = ["w1", "w2", "w3"].map((id) => s.take(s.worker(id)));
		await settle();
		s.add("a", "b", "c");
		await Promise.all(takes.map(({ jobs }) => jobs));
		expect(s.started).toEqual(["a to w1", "b to w2", "c to w3"]);
	});

	it("one job wakes one worker: the others stay parked without a claim", async () => {
		const s = sample();
		const first = s.take(s.worker("w1"));
		void s.take(s.worker("w2"));
		await settle();
		const before = s.claims.length;
		s.add("a");
		expect(await first.jobs).toEqual(["a"]);
		await settle();
		expect(s.claims.length - before).toBe(1);
		expect(s.lanes.parked("e")).toBe(1);
	});

	it("D50: a share decides what a worker may take; others are served, and its end opens the rest", async () => {
		const s = sample();
		const [limited, other] = [s.worker("w1"), s.worker("w2")];
		const started: string[] = [];
		let most = 0;
		s.lanes.setShare("e", {
			mostFor: (worker) => (worker === limited ? most : Infinity),
			started: ({ id }) => started.push(id),
		});
		const [waits, served] = [s.take(limited, 5), s.take(other)];
		s.add("a");
		expect(await served.jobs).toEqual(["a"]);
		s.add("b", "c");
		await settle();
		expect([s.started, started]).toEqual([["a to w2"], ["w2"]]);
		most = 1;
		s.add("d");
		expect(await waits.jobs).toEqual(["b"]);
		most = 0;
		const rest = s.take(limited, 5);
		await settle();
		s.lanes.setShare("e", undefined);
		expect(await rest.jobs).toHaveLength(2);
		expect(started).toEqual(["w2", "w1"]);
	});

	it("D50: the end of a share gives a poll its whole limit back", async () => {
		const s = sample();
		s.lanes.setShare("e", { mostFor: () => 1, started: () => {} });
		const waits = s.take(s.worker("w1"), 3);
		await settle();
		expect(s.claims.map(({ limit }) => limit)).toEqual([1]);
		s.lanes.setShare("e", undefined);
		s.queue.push("a", "b", "c");
		s.lanes.announce("e", 3);
		expect(await waits.jobs).toEqual(["a", "b", "c"]);
	});

	it("D39: of a removed endpoint nothing is remembered: one of the same name starts empty", async () => {
		const s = sample();
		s.queue.push("a");
		await s.take(s.worker("w1")).jobs;
		const parked = s.take(s.worker("w1"));
		await settle();
		parked.leave();
		await parked.jobs;
		// Not announced: only who knows nothing of a queue looks into it.
		s.queue.push("b");
		void s.take(s.worker("w2"));
		await settle();
		expect(s.started).toEqual(["a to w1"]);
		s.lanes.forget("e");
		expect(s.lanes.parked("e")).toBe(0);
		expect(await s.take(s.worker("w3")).jobs).toEqual(["b"]);
	});

	it("a batch takes up to its limit, and what remains goes to the next", async () => {
		const s = sample();
		s.queue.push("a", "b", "c", "d", "f");
		expect(await s.take(s.worker("w1"), 3).jobs).toEqual(["a", "b", "c"]);
		expect(await s.take(s.worker("w2"), 3).jobs).toEqual(["d", "f"]);
	});

	it("jobs from before the start are found one after another, whatever was announced", async () => {
		const s = sample();
		s.queue.push("a", "b", "c");
		const takes = ["w1", "w2", "w3"].map((id) => s.take(s.worker(id)));
		expect((await Promise.all(takes.map(({ jobs }) => jobs))).flat().toSorted()).toEqual(["a", "b", "c"]);
	});

	it("a poll that ends is answered empty and gets no job", async () => {
		const s = sample();
		const first = s.take(s.worker("w1"));
		await settle();
		first.leave();
		expect(await first.jobs).toEqual([]);
		expect(s.lanes.parked("e")).toBe(0);
		s.add("a");
		await settle();
		expect(s.queue).toEqual(["a"]);
	});

	it("D16: jobs claimed for a worker that left meanwhile are given back", async () => {
		const s = sample({ held: true });
		s.queue.push("a");
		const first = s.take(s.worker("w1"));
		first.leave();
		await settle();
		s.answers.shift()!();
		expect(await first.jobs).toEqual([]);
		expect(s.released).toEqual(["a of w1"]);
		expect(s.started).toEqual([]);
		expect(s.worker("w1").held.size).toBe(0);
	});

	it("D16: a job fenced from one worker goes to another, and the fenced one does not claim repeatedly", async () => {
		const s = sample();
		s.fenced.set("a", "w1");
		const first = s.take(s.worker("w1"));
		await settle();
		s.add("a");
		await settle();
		const claims = s.claims.length;
		await settle();
		expect(s.claims.length).toBe(claims);
		expect(await s.take(s.worker("w2")).jobs).toEqual(["a"]);
		s.fenced.clear();
		s.add("b");
		expect(await first.jobs).toEqual(["b"]);
	});

	it("D16: a fenced claim reports open attempts of the worker that only the store knows", async () => {
		const s = sample();
		s.fenced.set("a", "w1");
		const [fenced, free] = [s.worker("w1"), s.worker("w2")];
		for (const worker of [fenced, free]) worker.knownIdle = true;
		const parked = s.take(fenced);
		s.add("a");
		await settle();
		await s.take(free).jobs;
		expect([fenced.knownIdle, free.knownIdle]).toEqual([false, true]);
		parked.leave();
	});

	it("D28: a draining worker gets nothing", async () => {
		const s = sample();
		const worker = s.worker("w1");
		const first = s.take(worker);
		await settle();
		closeWorker(worker);
		s.add("a");
		expect(await s.take(s.worker("w2")).jobs).toEqual(["a"]);
		first.leave();
		expect(await first.jobs).toEqual([]);
	});

	it("D29: a paused endpoint hands nothing out until it is resumed", async () => {
		const s = sample();
		s.pause(true);
		const first = s.take(s.worker("w1"));
		s.add("a");
		await settle();
		expect(s.claims).toEqual([]);
		s.pause(false);
		s.lanes.checkAll();
		expect(await first.jobs).toEqual(["a"]);
	});

	it("a poll finds jobs that were not announced", async () => {
		const s = sample();
		const first = s.take(s.worker("w1"));
		await settle();
		s.queue.push("a");
		await settle();
		expect(s.queue).toEqual(["a"]);
		s.lanes.checkAll();
		expect(await first.jobs).toEqual(["a"]);
	});

	it("endpoints do not share their workers", async () => {
		const s = sample();
		const other = s.take(s.worker("v", "other"));
		await settle();
		s.add("a");
		await settle();
		expect(s.queue).toEqual(["a"]);
		other.leave();
		expect(await other.jobs).toEqual([]);
	});

	it("D40: while the store is unavailable a poll keeps its turn, and gets the job at the next claim", async () => {
		const s = sample();
		s.queue.push("a");
		s.failWith(new StoreUnavailable("full", "disk full"));
		const [first, second] = [s.take(s.worker("w1")), s.take(s.worker("w2"))];
		await settle();
		s.failWith(undefined);
		s.lanes.checkAll();
		expect(await first.jobs).toEqual(["a"]);
		second.leave();
		expect(await second.jobs).toEqual([]);
	});

	it("a poll that ends while the store is unavailable ends without jobs; one of a closed store fails", async () => {
		const s = sample();
		s.failWith(new StoreUnavailable("unreachable", "stopped"));
		const poll = s.take(s.worker("w1"));
		await settle();
		poll.leave();
		expect(await poll.jobs).toEqual([]);
		s.failWith(new StoreUnavailable("closed", "The store is closed."));
		await expect(s.take(s.worker("w1")).jobs).rejects.toThrow("closed");
	});
});

describe("handBack", () => {
	const job = { id: "a", attempt: 1 };

	it("D16: gives jobs back from the last to the first, which keeps their order, as ended attempts", async () => {
		const moves: object[] = [];
		const move = (async (q: object) => (moves.push(q), { ok: true })) as unknown as JobStore["move"];
		const worker = sample().worker("w");
		worker.held.set("a", { attempt: 1, handedAt: 0 });
		expect(await requeueUndelivered({ move, now: () => 5 }, worker, [job, { id: "b", attempt: 2 }])).toEqual([
			"b",
			"a",
		]);
		expect(moves).toEqual([
			{ endpoint: "e", id: "b", on: "release", attempt: 2, over: true, now: 5 },
			{ endpoint: "e", id: "a", on: "release", attempt: 1, over: true, now: 5 },
		]);
		expect(worker.held.size).toBe(0);
	});

	it("names only jobs that wait again; a store that is unavailable is left to the lease", async () => {
		const worker = sample().worker("w");
		const refused: JobStore["move"] = async () => ({ ok: false, why: "stale" });
		expect(await requeueUndelivered({ move: refused, now: () => 5 }, worker, [job])).toEqual([]);
		const unavailable: JobStore["move"] = () => Promise.reject(new StoreUnavailable("full", "disk full"));
		expect(await requeueUndelivered({ move: unavailable, now: () => 5 }, worker, [job])).toEqual([]);
		const broken: JobStore["move"] = () => Promise.reject(new Error("broken"));
		await expect(requeueUndelivered({ move: broken, now: () => 5 }, worker, [job])).rejects.toThrow("broken");
	});
});
