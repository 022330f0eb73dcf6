/**
 * What each transition does to a job, as pure functions. Both store dialects read a row, ask here,
 * and write what they are told, so that no rule lives in a statement.
 */
import type { Attempt, AttemptEnd, Job } from "./job.ts";
import { allowed, isFinal, ruleOf } from "./job-states.ts";
import type { JobEvent, JobState } from "./job-states.ts";

/** Losses after which a job is failed instead of queued again (D16). */
export const MAX_LOSSES = 3;

/** Successive pings without the job that prove it lost, or its old attempt over (D16). */
export const MISSED_PINGS = 2;

/** What an event is told: the moment, and what only some events carry. */
export interface EventContext {
	now: number;
	/** `claim`: the worker that takes the job. */
	worker?: string;
	/** Whether the attempt is known to be over at its worker (D16 Fence). Default false. */
	over?: boolean;
}

/** What a store has to write after an event. */
export interface TransitionStep {
	on: JobEvent;
	from: JobState;
	/** The record as it is now; for `delete` the last one. */
	job: Job;
	/** The attempt that this event ended and that goes into the history. */
	closed?: Attempt;
	/** End of the queue that the job joins. */
	place?: "front" | "back";
	/** Result texts to remove. */
	clear: boolean;
	/** Chunks to remove: those not delivered yet, or all. */
	chunks?: "undelivered" | "all";
	/** Payloads to remove, the record stays. */
	erase: boolean;
	/** The row itself goes. */
	remove: boolean;
	/** The worker to be told to stop the run. */
	stop?: string;
	/** The job ended: a delivery is due if it has a webhook (D21). */
	ended: boolean;
}

const ENDS: Partial<Record<JobEvent, AttemptEnd>> = {
	lose: "lost",
	exhaust: "lost",
	release: "released",
	overrun: "timed_out",
	cancel: "cancelled",
};

/**
 * Applies `on` to `job`; undefined when the table refuses it in the job's state. The given job is
 * not changed.
 */
export function transition(
	job: Job,
	on: JobEvent,
	context: EventContext,
): TransitionStep | undefined {
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
				after.startedAt = now;
				after.missed = 0;
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
				break;
			case "front":
			case "back":
				result.place = effect;
				if (effect === "front") result.chunks = "undelivered";
				after.queuedAt = now;
				after.worker = after.startedAt = after.endedAt = after.leaseUntil = undefined;
				after.missed = 0;
				break;
			case "settle":
				after.endedAt = now;
				after.leaseUntil = undefined;
				result.ended = true;
				// Only a job that can be retried may need its secrets again (D22).
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
	after.dueAt = dueAt(after);
	return result;
}

function closedAttempt(job: Job, on: JobEvent, context: EventContext): Attempt | undefined {
	if (job.worker === undefined || job.startedAt === undefined) return undefined;
	// A final job leaves its last attempt in its own record until a retry replaces it; one that ended
	// by itself is over.
	if (isFinal(job.state)) {
		if (job.state === "TIMED_OUT" || job.endedAt === undefined || job.losses >= MAX_LOSSES)
			return undefined;
		return {
			attempt: job.attempt,
			worker: job.worker,
			startedAt: job.startedAt,
			endedAt: job.endedAt,
			end: "failed",
			open: false,
			missed: 0,
		};
	}
	const end = ENDS[on];
	if (!end) return undefined;
	return {
		attempt: job.attempt,
		worker: job.worker,
		startedAt: job.startedAt,
		endedAt: context.now,
		end,
		open: context.over !== true,
		missed: 0,
	};
}

/** When something next happens to the job by itself, in ms since the epoch. */
export function dueAt(job: Job): number {
	switch (job.state) {
		case "IN_QUEUE":
			return job.queuedAt + job.ttlMs;
		case "IN_PROGRESS":
			return Math.min(deadlineOf(job), job.leaseUntil ?? Number.MAX_SAFE_INTEGER);
		default: {
			const kept = job.erased ? Math.max(job.recordMs, job.retainMs) : job.retainMs;
			return (job.endedAt ?? job.queuedAt) + kept;
		}
	}
}

/** When the running attempt exceeds its execution timeout. */
function deadlineOf(job: Job): number {
	return Math.min((job.startedAt ?? 0) + job.executionTimeoutMs, Number.MAX_SAFE_INTEGER);
}

/**
 * What has happened to the job by itself up to `now`, and when: a lapsed wait, an overrun, a lost
 * lease, an expiry (D15, D16, D9). Undefined when nothing has. Apply it with {@link transition} at the
 * moment given, then ask again.
 */
export function dueEvent(job: Job, now: number): { on: JobEvent; at: number } | undefined {
	if (now < job.dueAt) return undefined;
	switch (job.state) {
		case "IN_QUEUE":
			return { on: "lapse", at: job.dueAt };
		case "IN_PROGRESS":
			return deadlineOf(job) <= job.dueAt
				? { on: "overrun", at: job.dueAt }
				: { on: lossOf(job), at: job.dueAt };
		default:
			return { on: job.erased ? "forget" : "expire", at: job.dueAt };
	}
}

/**
 * The event of a lost attempt: back to the queue, or failed when it was the last loss allowed
 * (D16).
 */
export function lossOf(job: Job): "lose" | "exhaust" {
	return job.losses + 1 >= MAX_LOSSES ? "exhaust" : "lose";
}

/**
 * The sentence a job gets as its `error` when it ends without a word of its worker; undefined for
 * other events.
 */
export function errorOf(
	on: JobEvent,
	before: Job,
	history: readonly Attempt[],
): string | undefined {
	switch (on) {
		case "lapse":
			return `The job waited longer than its ttl of ${before.ttlMs} ms and no worker took it.`;
		case "overrun":
			return `The job ran longer than its executionTimeout of ${before.executionTimeoutMs} ms and was stopped.`;
		case "exhaust": {
			const told = [...history.filter((past) => past.end === "lost"), before]
				.slice(-MAX_LOSSES)
				.map((past) => `attempt ${past.attempt} on worker ${past.worker}`);
			return `The job was lost ${MAX_LOSSES} times and is not tried again: ${told.join(", ")}. The workers ended or stopped naming it before they reported a result.`;
		}
		default:
			return undefined;
	}
}

/**
 * How an event changes the counts of its endpoint (D13): the present by state, the totals by
 * outcome.
 */
export function countsOf(on: JobEvent, from: JobState, to: JobState): Counts {
	const into = (state: JobState): number =>
		ruleOf(on).to === undefined ? 0 : Number(to === state);
	return {
		inQueue: into("IN_QUEUE") - Number(from === "IN_QUEUE"),
		inProgress: into("IN_PROGRESS") - Number(from === "IN_PROGRESS"),
		completed: into("COMPLETED"),
		failed: into("FAILED") + into("TIMED_OUT"),
		retried: Number(on === "lose" || on === "retry"),
	};
}

/** Counts of an endpoint: two present ones, three totals since it was created (D13). */
export interface Counts {
	inQueue: number;
	inProgress: number;
	completed: number;
	failed: number;
	retried: number;
}
