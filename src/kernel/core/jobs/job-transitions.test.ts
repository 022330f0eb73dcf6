/** What events do to a job: cases by decision, and what holds after any sequence of events. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Attempt, type Job, newJob, runOf, type Submission } from "./job.ts";
import {
	type Counts,
	countsOf,
	dueAt,
	dueEvent,
	errorOf,
	type EventContext,
	lossOf,
	MAX_LOSSES,
	resumedBy,
	transition,
	type TransitionStep,
} from "./job-transitions.ts";
import { isFinal, type JobEvent, RULES } from "./job-states.ts";

const SUBMISSION: Submission = {
	id: "j",
	endpoint: "e",
	operation: "run",
	lowPriority: false,
	ttlMs: 10_000,
	executionTimeoutMs: 60_000,
	leaseMs: 20_000,
	retainMs: 30_000,
	recordMs: 100_000,
	webhook: "http://hook.test/",
	s3Config: "sealed",
};
const T = 1_000_000;

function after(job: Job, on: JobEvent, context: EventContext): TransitionStep {
	const done = transition(Object.freeze(job), on, context);
	expect(done, `${on} in ${job.state}`).toBeDefined();
	return done!;
}

function running(over: Partial<Submission> = {}): Job {
	return after(newJob({ ...SUBMISSION, ...over }, T), "claim", { now: T + 100, worker: "w1" }).job;
}

describe("step", () => {
	it("spec 3: a claim starts an attempt with its lease", () => {
		expect(running()).toMatchObject({
			state: "IN_PROGRESS",
			attempt: 1,
			worker: "w1",
			startedAt: T + 100,
			leaseUntil: T + 20_100,
			missed: 0,
		});
	});

	it.each(["complete", "fail"] as const)("spec 3: %s stamps the end and keeps the worker", (on) => {
		const done = after(running(), on, { now: T + 500 });
		expect(done.job).toMatchObject({ endedAt: T + 500, worker: "w1", leaseUntil: undefined });
		expect(done).not.toHaveProperty("closed");
		expect(done).not.toHaveProperty("stop");
	});

	it("D7, D58: a loss of a job of /openai drops all chunks, whatever a reader of /stream has got", () => {
		expect(after(running({ operation: "openai" }), "lose", { now: T + 900 }).chunks).toBe("all");
		expect(after(running({ operation: "openai" }), "release", { now: T + 900 }).chunks).toBe("all");
	});

	it("D16: a loss counts, joins the front, drops undelivered chunks, and its attempt stays open", () => {
		const lost = after(running(), "lose", { now: T + 900 });
		expect(lost).toMatchObject({
			place: "front",
			chunks: "undelivered",
			job: { state: "IN_QUEUE", losses: 1, returns: 1, queuedAt: T + 900, attempt: 1 },
		});
		expect(lost.closed).toEqual({
			attempt: 1,
			worker: "w1",
			startedAt: T + 100,
			endedAt: T + 900,
			end: "lost",
			open: true,
			missed: 0,
		});
		expect(lost.job).toMatchObject({
			worker: undefined,
			startedAt: undefined,
			leaseUntil: undefined,
		});
	});

	it("D16: a release counts neither as a loss nor as a return; known to be over, its attempt is closed", () => {
		const given = after(running(), "release", { now: T + 900, over: true });
		expect(given.job).toMatchObject({ state: "IN_QUEUE", losses: 0, returns: 0 });
		expect(given.closed).toMatchObject({ end: "released", open: false });
	});

	it("D15: a release after a failed start keeps the queue deadline, and the job ends soon if that has passed", () => {
		const { job } = after(running(), "release", { now: T + 900, over: true, keepsDeadline: true });
		expect(job).toMatchObject({ queuedAt: T, dueAt: T + SUBMISSION.ttlMs });
		const late = T + SUBMISSION.ttlMs + 900;
		expect(after(running(), "release", { now: late, over: true, keepsDeadline: true }).job.dueAt).toBe(late);
	});

	it("D54: a returned attempt is closed as one, and the third loss among returns fails the job", () => {
		const given = { now: T + 900, over: true, returned: true, workerEnd: "no answer" };
		expect(after(running(), "release", given).closed).toMatchObject({ returned: true, workerEnd: "no answer" });
		expect(after(running(), "lose", given).closed).toMatchObject({ end: "lost", open: false, returned: true });
		expect(after(running(), "lose", { now: T + 900 }).closed).not.toHaveProperty("returned");
	});

	it("D55: a retry raises the run, other events do not", () => {
		const lost = after(running(), "lose", { now: T + 200 }).job;
		expect(runOf(lost)).toBe(1);
		const failed = after(after(lost, "claim", { now: T + 300, worker: "w2" }).job, "fail", { now: T + 400 }).job;
		const again = after(failed, "retry", { now: T + 500 }).job;
		expect(runOf(again)).toBe(2);
		const once = after(again, "lapse", { now: T + 600 }).job;
		expect(runOf(after(once, "retry", { now: T + 700 }).job)).toBe(3);
	});

	it("D18: cancelling a running job names the worker to stop, a waiting one names none", () => {
		expect(after(running(), "cancel", { now: T + 900 })).toMatchObject({
			stop: "w1",
			closed: { end: "cancelled", open: true },
			job: { state: "CANCELLED", endedAt: T + 900 },
		});
		const waiting = after(newJob(SUBMISSION, T), "cancel", { now: T + 1 });
		expect(waiting.stop).toBeUndefined();
		expect(waiting.closed).toBeUndefined();
	});

	it("D37: a retry clears result, losses and chunks, is a return to the back, and keeps the attempt number", () => {
		const lost = after(running(), "lose", { now: T + 200 }).job;
		const failed = after(after(lost, "claim", { now: T + 300, worker: "w2" }).job, "fail", {
			now: T + 400,
		}).job;
		const retried = after(failed, "retry", { now: T + 500 });
		expect(retried).toMatchObject({
			place: "back",
			clear: true,
			chunks: "all",
			closed: { attempt: 2, end: "failed", open: false, endedAt: T + 400 },
		});
		expect(retried.job).toMatchObject({
			losses: 0,
			returns: 2,
			queuedAt: T + 500,
			attempt: 2,
			endedAt: undefined,
			webhook: SUBMISSION.webhook,
			s3Config: "sealed",
		});
		expect(after(retried.job, "claim", { now: T + 600, worker: "w3" }).job.attempt).toBe(3);
	});

	it("D9: expiry erases payloads and secrets, keeps the record; an erased job can only be forgotten", () => {
		const ended = after(running(), "fail", { now: T + 400 }).job;
		const erased = after(ended, "expire", { now: T + 40_000 });
		expect(erased).toMatchObject({
			erase: true,
			chunks: "all",
			remove: false,
			job: { state: "FAILED", erased: true, webhook: undefined, s3Config: undefined },
		});
		for (const { on } of RULES)
			expect(transition(erased.job, on, { now: T + 50_000 }) !== undefined, on).toBe(on === "forget");
		expect(after(erased.job, "forget", { now: T + 200_000 }).remove).toBe(true);
	});

	it("spec 3: an event the table refuses changes nothing", () => {
		expect(transition(newJob(SUBMISSION, T), "complete", { now: T })).toBeUndefined();
		expect(
			transition(after(running(), "complete", { now: T + 1 + 100 }).job, "retry", { now: T + 500 }),
		).toBeUndefined();
	});
});

describe("dueEvent", () => {
	it("D15: a wait lapses exactly when its ttl is over", () => {
		const job = newJob(SUBMISSION, T);
		expect(dueEvent(job, T + 9_999)).toBeUndefined();
		expect(dueEvent(job, T + 10_000)).toEqual({ on: "lapse", at: T + 10_000 });
		expect(dueEvent(job, T + 99_999)).toEqual({ on: "lapse", at: T + 10_000 });
	});

	it("D15: an overrun holds from its deadline on, also when it is seen late", () => {
		const job = running({ executionTimeoutMs: 6000 });
		expect(dueEvent(job, T + 6_099)).toBeUndefined();
		expect(dueEvent(job, T + 50_000)).toEqual({ on: "overrun", at: T + 6_100 });
	});

	it("D15: a deadline and a lease that end at once are an overrun, not a loss", () => {
		expect(dueEvent(running({ executionTimeoutMs: 20_000 }), T + 20_100)).toMatchObject({
			on: "overrun",
		});
	});

	it("D16: a lease that ends is a loss, the third one the last", () => {
		const job = running();
		expect(dueEvent(job, T + 20_099)).toBeUndefined();
		expect(dueEvent(job, T + 20_100)).toMatchObject({ on: "lose" });
		expect([0, 1, 2].map((losses) => lossOf({ ...job, losses }))).toEqual(["lose", "lose", "exhaust"]);
		expect(dueEvent({ ...job, losses: 2 }, T + 20_100)).toMatchObject({ on: "exhaust" });
	});

	it("D9: a result expires after its retention, its record later", () => {
		const ended = after(running(), "complete", { now: T + 1000 }).job;
		expect(dueEvent(ended, T + 30_999)).toBeUndefined();
		expect(dueEvent(ended, T + 31_000)).toEqual({ on: "expire", at: T + 31_000 });
		const erased = after(ended, "expire", { now: T + 31_000 }).job;
		expect(dueEvent(erased, T + 100_999)).toBeUndefined();
		expect(dueEvent(erased, T + 101_000)).toEqual({ on: "forget", at: T + 101_000 });
	});

	it("D15: an execution timeout of the largest safe integer overflows nothing", () => {
		expect(dueAt(running({ executionTimeoutMs: Number.MAX_SAFE_INTEGER }))).toBe(T + 20_100);
	});
});

describe("errorOf and countsOf", () => {
	it("D15, D16: an end without a report has a sentence, which names the bound or the history", () => {
		const job = running();
		expect(errorOf("lapse", job, [])).toContain("10000 ms");
		expect(errorOf("overrun", job, [])).toContain("60000 ms");
		const past = (attempt: number, worker: string) => ({
			attempt,
			worker,
			startedAt: T,
			endedAt: T,
			end: "lost" as const,
			open: true,
			missed: 0,
		});
		const message = errorOf("exhaust", { ...job, attempt: 4, worker: "w4" }, [
			past(1, "w1"),
			{ ...past(2, "w2"), end: "released" },
			past(3, "w3"),
		]);
		expect(message).toContain("attempt 1 on worker w1, attempt 3 on worker w3, attempt 4 on worker w4");
		for (const on of ["claim", "complete", "fail", "cancel", "retry", "lose"] as const)
			expect(errorOf(on, job, [])).toBeUndefined();
	});

	it("D13: FAILED and TIMED_OUT count as failed; returns by loss and retry as retried, a release as nothing", () => {
		expect(countsOf("fail", "IN_PROGRESS", "FAILED")).toEqual({
			inQueue: 0,
			inProgress: -1,
			completed: 0,
			failed: 1,
			retried: 0,
		});
		expect(countsOf("lapse", "IN_QUEUE", "TIMED_OUT")).toEqual({
			inQueue: -1,
			inProgress: 0,
			completed: 0,
			failed: 1,
			retried: 0,
		});
		expect(countsOf("lose", "IN_PROGRESS", "IN_QUEUE")).toEqual({
			inQueue: 1,
			inProgress: -1,
			completed: 0,
			failed: 0,
			retried: 1,
		});
		expect(countsOf("release", "IN_PROGRESS", "IN_QUEUE").retried).toBe(0);
		expect(countsOf("retry", "FAILED", "IN_QUEUE")).toEqual({
			inQueue: 1,
			inProgress: 0,
			completed: 0,
			failed: 0,
			retried: 1,
		});
		expect(countsOf("expire", "COMPLETED", "COMPLETED")).toEqual({
			inQueue: 0,
			inProgress: 0,
			completed: 0,
			failed: 0,
			retried: 0,
		});
		expect(countsOf("purge", "IN_QUEUE", "IN_QUEUE").inQueue).toBe(-1);
	});
});

/** Something that may happen: time passes, then an event is tried. */
const happening = fc.record({
	wait: fc.oneof(fc.nat(500), fc.nat(150_000)),
	on: fc.constantFrom(...RULES.map(({ on }) => on)),
	over: fc.boolean(),
});
const submission = fc.record({
	ttlMs: fc.integer({ min: 10_000, max: 60_000 }),
	executionTimeoutMs: fc.integer({ min: 5001, max: 60_000 }),
	leaseMs: fc.integer({ min: 2000, max: 60_000 }),
	retainMs: fc.nat(60_000),
	recordMs: fc.nat(120_000),
});

/** Lives one job through what happens, each passed deadline settled first, as a store does. */
function live(
	first: Job,
	happenings: readonly { wait: number; on: JobEvent; over: boolean }[],
	check: (done: TransitionStep, before: Job) => void,
): Job | undefined {
	let job: Job | undefined = first;
	let now = T;
	const history: Attempt[] = [];
	const apply = (on: JobEvent, context: EventContext): void => {
		const before: Job = Object.freeze(job!);
		const done = transition(before, on, context);
		if (!done) return;
		check(done, before);
		if (done.closed) history.push(done.closed);
		job = done.remove ? undefined : done.job;
	};
	for (const { wait, on, over } of happenings) {
		now += wait;
		for (let due; job && (due = dueEvent(job, now)); ) apply(due.on, { now: due.at });
		if (!job) return undefined;
		expect(job.dueAt).toBeGreaterThan(now);
		// Events that time alone brings about, and those that end the record, are not tried from
		// outside.
		if (on === "resume") {
			const worker = history.findLast(({ end }) => end === "lost")?.worker ?? "";
			const resumed = resumedBy({ job, nextChunk: 0 }, history, { worker, now });
			if (resumed) apply(on, resumed);
		} else if (!["lapse", "overrun", "expire", "forget", "lose", "exhaust"].includes(on))
			apply(on, { now, worker: `w${now}`, over });
		else if ((on === "lose" || on === "exhaust") && job.state === "IN_PROGRESS") apply(lossOf(job), { now, over });
	}
	return job;
}

describe("any sequence of events", () => {
	it("keeps what must always hold", () => {
		fc.assert(
			fc.property(submission, fc.array(happening, { maxLength: 40 }), (bounds, happenings) => {
				const sum: Counts = { inQueue: 1, inProgress: 0, completed: 0, failed: 0, retried: 0 };
				let isRemoved = false;
				live(newJob({ ...SUBMISSION, ...bounds }, T), happenings, (done, before) => {
					const { job, on, from } = done;
					const change = countsOf(on, from, job.state);
					for (const key of Object.keys(sum) as (keyof Counts)[]) {
						sum[key] += change[key];
						expect(sum[key]).toBeGreaterThanOrEqual(0);
						if (key !== "inQueue" && key !== "inProgress") expect(change[key]).toBeGreaterThanOrEqual(0);
					}
					isRemoved ||= done.remove;
					expect(sum.inQueue).toBe(Number(job.state === "IN_QUEUE" && !isRemoved));
					expect(sum.inProgress).toBe(Number(job.state === "IN_PROGRESS"));
					expect(sum.retried).toBe(job.returns);
					expect(job.attempt).toBe(before.attempt + Number(on === "claim" || on === "resume"));
					if (isFinal(before.state) && job.state !== before.state) expect(on).toBe("retry");
					expect(job.dueAt).toBe(dueAt(job));
					expect(job.endedAt !== undefined).toBe(isFinal(job.state));
					expect(job.leaseUntil !== undefined).toBe(job.state === "IN_PROGRESS");
					if (job.state === "IN_QUEUE")
						expect([job.worker, job.startedAt, job.missed]).toEqual([undefined, undefined, 0]);
					expect(job.losses).toBeLessThanOrEqual(MAX_LOSSES);
					if (!isFinal(job.state)) expect(job.losses).toBeLessThan(MAX_LOSSES);
					if (done.closed) expect(done.closed).toMatchObject({ attempt: before.attempt, worker: before.worker });
					if (done.place) expect(job.queuedAt).toBeGreaterThanOrEqual(before.queuedAt);
				});
			}),
			{ numRuns: 400 },
		);
	});

	it("D16: every attempt goes into the history exactly once when the next one begins", () => {
		fc.assert(
			fc.property(submission, fc.array(happening, { maxLength: 40 }), (bounds, happenings) => {
				const closed: number[] = [];
				live(newJob({ ...SUBMISSION, ...bounds }, T), happenings, (done, before) => {
					if (done.closed) closed.push(done.closed.attempt);
					if (done.on === "claim")
						expect(closed).toEqual(Array.from({ length: before.attempt }, (_, index) => index + 1));
				});
			}),
			{ numRuns: 300 },
		);
	});
});
