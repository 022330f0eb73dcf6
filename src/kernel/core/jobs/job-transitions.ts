/** Job transitions as pure functions; stores write the result. */
import { type Attempt, type AttemptEnd, type Job, runOf } from "./job.ts";
import { NAMED, signed, signsOfRun } from "./attempt-signs.ts";
import { allowed, isFinal, type JobEvent, type JobState, ruleOf } from "./job-states.ts";

/** Number of losses at which a job fails instead of returning to the queue (D16). */
export const MAX_LOSSES = 3;

export interface EventContext {
	now: number;
	worker?: string;
	/** See `Job`. */
	release?: number | undefined;
	/** The worker has certainly ended the attempt (D16 Fence). Default false. */
	over?: boolean;
	/** How the process ended, why its start failed, or why the worker returned the job, if that is why. */
	workerEnd?: string | undefined;
	/** The worker gave the job back (D54). */
	returned?: boolean;
	/** Whether the job keeps the queue deadline that it had before. */
	keepsDeadline?: boolean;
	/** What a `resume` continues: a lost attempt, and when the wait before it began. */
	resumed?: Pick<Attempt, "startedAt"> & Pick<Job, "queuedAt">;
}

export interface TransitionStep {
	on: JobEvent;
	from: JobState;
	/** If the job is deleted, its last version. */
	job: Job;
	closed?: Attempt;
	place?: "front" | "back";
	clear: boolean;
	chunks?: "undelivered" | "all";
	erase: boolean;
	remove: boolean;
	stop?: string;
	/** Whether the job has ended, so that its webhook is due (D21). */
	ended: boolean;
}

const ENDS: Partial<Record<JobEvent, AttemptEnd>> = {
	lose: "lost",
	exhaust: "lost",
	release: "released",
	overrun: "timed_out",
	cancel: "cancelled",
};

export function transition(job: Job, on: JobEvent, context: EventContext): TransitionStep | undefined {
	if (job.erased && on !== "forget") return undefined;
	if (!allowed(job.state, on)) return undefined;
	const rule = ruleOf(on);
	const { now } = context;
	const after: Job = { ...job, state: rule.to ?? job.state };
	const result: TransitionStep = {
		on,
		from: job.state,
		job: after,
		clear: false,
		erase: false,
		remove: false,
		ended: false,
	};
	for (const effect of rule.effects) {
		switch (effect) {
			case "start":
				after.attempt += 1;
				after.worker = context.worker;
				after.release = context.release;
				after.startedAt = context.resumed?.startedAt ?? now;
				after.queuedAt = context.resumed?.queuedAt ?? job.queuedAt;
				Object.assign(after, NAMED);
				after.leaseUntil = now + job.leaseMs;
				break;
			case "close": {
				const closed = closedAttempt(job, on, context);
				if (closed) result.closed = closed;
				break;
			}
			case "loss":
				after.losses += 1;
				if (rule.to === "IN_QUEUE") after.returns += 1;
				break;
			case "clear":
				result.clear = true;
				result.chunks = "all";
				after.losses = 0;
				after.returns += 1;
				after.run = runOf(job) + 1;
				after.retriedAt = now;
				break;
			case "front":
			case "back":
				result.place = effect;
				// Each reader of /openai begins at the first chunk, whatever a reader of /stream has got (D7).
				if (effect === "front") result.chunks = job.operation === "openai" ? "all" : "undelivered";
				if (context.keepsDeadline !== true) after.queuedAt = now;
				after.worker = after.release = after.startedAt = after.endedAt = after.leaseUntil = undefined;
				Object.assign(after, NAMED);
				break;
			case "settle":
				after.endedAt = now;
				after.leaseUntil = undefined;
				result.ended = true;
				// Secrets are kept only while a retry may need them (D22).
				if (!allowed(after.state, "retry")) after.s3Config = undefined;
				break;
			case "stop":
				if (job.state === "IN_PROGRESS" && job.worker !== undefined) result.stop = job.worker;
				break;
			case "erase":
				result.erase = true;
				result.chunks = "all";
				after.erased = true;
				after.webhook = after.s3Config = undefined;
				break;
			case "delete":
				result.remove = true;
				break;
		}
	}
	// A kept deadline may have passed while the job ran.
	after.dueAt = Math.max(now, dueAt(after));
	return result;
}

function closedAttempt(job: Job, on: JobEvent, context: EventContext): Attempt | undefined {
	const { worker, startedAt, attempt, endedAt } = job;
	if (worker === undefined || startedAt === undefined) return undefined;
	const run = { attempt, worker, startedAt, ...signed({ startedAt }, signsOfRun(job).signAt) };
	// A final job keeps its last attempt in the record until a retry; others are already closed.
	if (isFinal(job.state)) {
		if (job.state === "TIMED_OUT" || endedAt === undefined || job.losses >= MAX_LOSSES) return undefined;
		return { ...run, endedAt, end: "failed", open: false };
	}
	const end = ENDS[on];
	if (!end) return undefined;
	const { now, over, returned, workerEnd } = context;
	return {
		...run,
		endedAt: now,
		end,
		open: over !== true,
		...(returned && { returned }),
		...(workerEnd !== undefined && { workerEnd }),
	};
}

export function dueAt(job: Job): number {
	switch (job.state) {
		case "IN_QUEUE":
			return job.queuedAt + job.ttlMs;
		case "IN_PROGRESS":
			return Math.min(deadlineOf(job), job.leaseUntil ?? Number.MAX_SAFE_INTEGER);
		default: {
			const retention = job.erased ? Math.max(job.recordMs, job.retainMs) : job.retainMs;
			return (job.endedAt ?? job.queuedAt) + retention;
		}
	}
}

function deadlineOf(job: Job): number {
	return Math.min((job.startedAt ?? 0) + job.executionTimeoutMs, Number.MAX_SAFE_INTEGER);
}

/**
 * The event due by `now`: end of ttl, execution timeout, lease or retention (D9, D15, D16). Must be called again after
 * it is applied at `at`.
 */
export function dueEvent(job: Job, now: number): { on: JobEvent; at: number } | undefined {
	if (now < job.dueAt) return undefined;
	switch (job.state) {
		case "IN_QUEUE":
			return { on: "lapse", at: job.dueAt };
		case "IN_PROGRESS":
			return deadlineOf(job) <= job.dueAt ? { on: "overrun", at: job.dueAt } : { on: lossOf(job), at: job.dueAt };
		default:
			return { on: job.erased ? "forget" : "expire", at: job.dueAt };
	}
}

/** The last allowed loss fails the job (D16). */
export function lossOf(job: Job): "lose" | "exhaust" {
	return job.losses + 1 >= MAX_LOSSES ? "exhaust" : "lose";
}

/** An attempt as a worker was given it: an earlier one, or the present one of a job. */
type GivenAttempt = Pick<Attempt, "attempt" | "worker" | "startedAt">;

/** Whether `run` continues the lost attempt `before` after a late report: it began with it (D16 Late reports). */
export function isContinued(
	before: Omit<GivenAttempt, "attempt"> & { end: string; returned?: boolean },
	run: Omit<GivenAttempt, "attempt">,
): boolean {
	const { end, returned, worker, startedAt } = before;
	return end === "lost" && !returned && worker === run.worker && startedAt === run.startedAt;
}

/**
 * Whether a post of the worker of `run` that names `attempt` is about this run: a run that continues a lost attempt has
 * the number of that one for its worker. A post that names none is about whichever run the worker has.
 */
export function isAbout(attempt: number | undefined, run: GivenAttempt, history: () => readonly Attempt[]): boolean {
	if (attempt === undefined || attempt === run.attempt) return true;
	const named = history().find((past) => past.attempt === attempt);
	return named !== undefined && isContinued(named, run);
}

/**
 * The lost attempt that a late report of the worker continues (D16 Late reports): no worker was given the job since,
 * and no deadline of the run has passed. Undefined: the report is too late, or names another attempt.
 */
export function resumedBy(
	{ job, nextChunk }: { job: Job; nextChunk: number },
	history: readonly Attempt[],
	q: Pick<EventContext, "release" | "now"> & { worker: string; attempt?: number | undefined },
): EventContext | undefined {
	const { worker, release, now } = q;
	// No worker runs an attempt that its worker gave back, or a released one that is over: it was never delivered, or the
	// service stopped it. What this worker itself gave back last is not continued by a post that was overtaken.
	const last = history.findLast((past) =>
		past.returned ? past.worker === worker : past.end !== "released" || past.open,
	);
	// Losses before a retry do not count, and stored chunks may have been dropped with the attempt.
	if (job.losses === 0 || nextChunk > 0) return undefined;
	if (last?.end !== "lost" || last.returned || last.worker !== worker) return undefined;
	if (!isAbout(q.attempt, last, () => history)) return undefined;
	if (now >= last.startedAt + job.executionTimeoutMs) return undefined;
	const { startedAt } = last;
	// An attempt that was resumed before began with the one that it continued.
	const before = history.filter((past) => past.startedAt < startedAt).map(({ endedAt }) => endedAt);
	const queuedAt = Math.min(Math.max(job.retriedAt ?? job.submittedAt, ...before), startedAt);
	return { now, worker, release, resumed: { startedAt, queuedAt } };
}

/** Undefined for events other than ends without a report. */
export function errorOf(
	on: JobEvent,
	before: Job & Pick<Attempt, "workerEnd">,
	history: readonly Attempt[],
): string | undefined {
	switch (on) {
		case "lapse":
			return `The job waited longer than its ttl of ${before.ttlMs} ms and no worker took it.`;
		case "overrun":
			return `The job ran longer than its executionTimeout of ${before.executionTimeoutMs} ms and was stopped.`;
		case "exhaust": {
			const lost = [...history.filter((past) => past.end === "lost"), before];
			const attempts = lost
				.slice(-MAX_LOSSES)
				.map(
					(past) =>
						`attempt ${past.attempt} on worker ${past.worker}` +
						(past.workerEnd === undefined ? "" : ` (${past.workerEnd})`),
				);
			return (
				`The job was lost ${MAX_LOSSES} times and is not tried again: ${attempts.join(", ")}. ` +
				"The workers exited, returned the job or stopped reporting it before they reported a result."
			);
		}
		default:
			return undefined;
	}
}

/** Change of the endpoint's counts by an event (D13). */
export function countsOf(on: JobEvent, from: JobState, to: JobState): Counts {
	const into = (state: JobState): number => (ruleOf(on).to === undefined ? 0 : Number(to === state));
	return {
		inQueue: into("IN_QUEUE") - Number(from === "IN_QUEUE"),
		inProgress: into("IN_PROGRESS") - Number(from === "IN_PROGRESS"),
		completed: into("COMPLETED"),
		failed: into("FAILED") + into("TIMED_OUT"),
		retried: Number(on === "lose" || on === "retry"),
	};
}

/** Current jobs by state, and totals since the endpoint was created (D13). */
export interface Counts {
	inQueue: number;
	inProgress: number;
	completed: number;
	failed: number;
	retried: number;
}
