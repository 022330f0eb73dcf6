/** What happened to a job and when, as one list for operators (D39). Pure. */
import type { Job } from "./job.ts";
import { isFinal } from "./job-states.ts";
import type { JobState } from "./job-states.ts";
import type { AttemptDetails } from "./timeline.ts";

/**
 * Everything a timeline may tell: how attempts begin and end, how the job ends without one, and
 * what comes between and after.
 */
export const TIMELINE_EVENTS = [
	"submitted",
	"started",
	"lost",
	"released",
	"retried",
	"completed",
	"failed",
	"cancelled",
	"timed_out",
	"expired",
] as const;

/** One thing that happened. */
export interface TimelineEvent {
	/** Ms since the epoch. */
	at: number;
	event: (typeof TIMELINE_EVENTS)[number];
	/** Of the attempt that began or ended. */
	attempt?: number;
	worker?: string;
	/** The same as a sentence. */
	message: string;
}

const ENDS = {
	completed: "reported its result",
	failed: "reported a failure",
	lost: "lost the job: it ended or no longer named it",
	released: "was ended by the service and gave the job back",
	timed_out: "ran longer than the execution timeout",
	cancelled: "was told to stop: the job was cancelled",
} as const;

const FINALS = {
	COMPLETED: { event: "completed", message: "The job is completed." },
	FAILED: { event: "failed", message: "The job failed: it was lost too often." },
	CANCELLED: { event: "cancelled", message: "The job was cancelled while it waited." },
	TIMED_OUT: { event: "timed_out", message: "The job waited longer than its ttl." },
} as const satisfies Record<
	Exclude<JobState, "IN_QUEUE" | "IN_PROGRESS">,
	Pick<TimelineEvent, "event" | "message">
>;

/**
 * The story of a job, oldest first. Of several retries only the last has its own time in the
 * record: an earlier one is told at the start of the attempt after it, where that attempt followed
 * an end by report or by timeout, and else not at all.
 */
export function timelineOf(job: Job, attempts: readonly AttemptDetails[]): TimelineEvent[] {
	const told: TimelineEvent[] = [
		{ at: job.submittedAt, event: "submitted", message: "The job was submitted." },
	];
	const lastRetry = lastRetryOf(job, attempts);
	for (const [index, { attempt, worker, startedAt, endedAt, end }] of attempts.entries()) {
		const before = attempts[index - 1];
		const own =
			lastRetry !== undefined &&
			lastRetry <= startedAt &&
			(before?.endedAt ?? job.submittedAt) <= lastRetry;
		if (own) told.push(retried(lastRetry));
		else if (before?.end === "failed" || before?.end === "timed_out") told.push(retried(startedAt));
		told.push({
			at: startedAt,
			event: "started",
			attempt,
			worker,
			message: `Worker ${worker} took the job (attempt ${attempt}).`,
		});
		if (end !== "running" && endedAt !== undefined)
			told.push({
				at: endedAt,
				event: end,
				attempt,
				worker,
				message: `Worker ${worker} ${ENDS[end]} (attempt ${attempt}).`,
			});
	}
	const last = attempts.at(-1);
	if (
		lastRetry !== undefined &&
		!told.some(({ event, at }) => event === "retried" && at === lastRetry)
	)
		told.push(retried(lastRetry));
	const { state, endedAt } = job;
	if (state !== "IN_QUEUE" && state !== "IN_PROGRESS" && endedAt !== undefined) {
		const final = FINALS[state];
		const byAttempt =
			last?.end === final.event && last.attempt === job.attempt && last.endedAt === endedAt;
		if (!byAttempt) told.push({ at: endedAt, ...final });
		if (job.erased)
			told.push({
				at: endedAt + job.retainMs,
				event: "expired",
				message: "Input, output and error were erased.",
			});
	}
	return told.toSorted((a, b) => a.at - b.at);
}

/** When the result of an ended job expires or has expired, ms since the epoch. */
export function expiresAt(job: Job): number | undefined {
	return isFinal(job.state) && job.endedAt !== undefined ? job.endedAt + job.retainMs : undefined;
}

/** When the present or last wait began, unless with the submission or the return of an attempt. */
function lastRetryOf(
	{ submittedAt, queuedAt }: Job,
	attempts: readonly AttemptDetails[],
): number | undefined {
	const returned = attempts.some(
		({ end, endedAt }) => (end === "lost" || end === "released") && endedAt === queuedAt,
	);
	return queuedAt === submittedAt || returned ? undefined : queuedAt;
}

function retried(at: number): TimelineEvent {
	return { at, event: "retried", message: "The job was queued again by a retry." };
}
