/** The timeline of a job (D39). */
import type { Job } from "./job.ts";
import { isFinal, type JobState } from "./job-states.ts";
import { asSentence } from "../../lib/text.ts";
import { type SharedId, sharedIdText } from "../workers/shared-id.ts";
import type { AttemptDetails } from "./timeline.ts";

export const TIMELINE_EVENTS = [
	"submitted",
	"started",
	"worker_shared",
	"lost",
	"released",
	"retried",
	"completed",
	"failed",
	"cancelled",
	"timed_out",
	"expired",
] as const;

interface TimelineEvent {
	/** Ms since the epoch. */
	at: number;
	event: (typeof TIMELINE_EVENTS)[number];
	attempt?: number;
	worker?: string;
	message: string;
}

const ENDS = {
	completed: "reported its result",
	failed: "reported a failure",
	lost: "lost the job: it exited or no longer reported it",
	released: "was stopped by the service; the job returned to the queue",
	timed_out: "ran longer than the execution timeout",
	cancelled: "was asked to stop: the job was cancelled",
} as const;

const FINALS = {
	COMPLETED: { event: "completed", message: "The job is completed." },
	FAILED: { event: "failed", message: "The job failed: it was lost too often." },
	CANCELLED: { event: "cancelled", message: "The job was cancelled while it waited." },
	TIMED_OUT: { event: "timed_out", message: "The job waited longer than its ttl." },
} as const satisfies Record<Exclude<JobState, "IN_QUEUE" | "IN_PROGRESS">, Pick<TimelineEvent, "event" | "message">>;

/**
 * Returns the events of a job, the oldest first. Only the last retry's time is recorded: an earlier retry is shown at
 * the start of the next attempt if the previous one failed or timed out, else not at all.
 */
export function timelineOf(
	job: Job,
	attempts: readonly AttemptDetails[],
	sharedId: (worker: string) => SharedId | undefined,
): TimelineEvent[] {
	const events: TimelineEvent[] = [{ at: job.submittedAt, event: "submitted", message: "The job was submitted." }];
	const lastRetry = job.retriedAt;
	for (const [index, details] of attempts.entries()) {
		const { attempt, worker, startedAt, endedAt, end, continues } = details;
		const before = attempts[index - 1];
		const hasLastRetry =
			lastRetry !== undefined && lastRetry <= startedAt && (before?.endedAt ?? job.submittedAt) <= lastRetry;
		if (hasLastRetry) events.push(retried(lastRetry));
		else if (before?.end === "failed" || before?.end === "timed_out") events.push(retried(startedAt));
		if (continues === undefined)
			events.push({
				at: startedAt,
				event: "started",
				attempt,
				worker,
				message: `Worker ${worker} took the job (attempt ${attempt}).`,
			});
		const shared = sharedId(worker);
		if (shared && shared.at >= startedAt && shared.since <= (endedAt ?? Infinity))
			events.push({
				at: Math.max(shared.since, startedAt),
				event: "worker_shared",
				attempt,
				worker,
				message: asSentence(sharedIdText(worker)),
			});
		if (end !== "running" && endedAt !== undefined)
			events.push({
				at: endedAt,
				event: end,
				attempt,
				worker,
				message: `Worker ${worker} ${endText(details, end)} (attempt ${attempt}${lateText(details)}).`,
			});
	}
	const last = attempts.at(-1);
	if (lastRetry !== undefined && !events.some(({ event, at }) => event === "retried" && at === lastRetry))
		events.push(retried(lastRetry));
	const { state, endedAt } = job;
	if (state !== "IN_QUEUE" && state !== "IN_PROGRESS" && endedAt !== undefined) {
		const final = FINALS[state];
		const byAttempt = last?.end === final.event && last.attempt === job.attempt && last.endedAt === endedAt;
		if (!byAttempt) events.push({ at: endedAt, ...final });
		if (job.erased)
			events.push({
				at: endedAt + job.retainMs,
				event: "expired",
				message: "Input, output and error were erased.",
			});
	}
	return events.toSorted((a, b) => a.at - b.at);
}

function endText({ workerEnd, returned }: AttemptDetails, end: keyof typeof ENDS): string {
	if (workerEnd === undefined) return ENDS[end];
	if (end === "released") return `returned the job to the queue: ${workerEnd}`;
	if (returned) return `returned the job, which counts as a loss: ${workerEnd}`;
	return end === "lost" ? `lost the job: ${workerEnd}` : `${ENDS[end]}: ${workerEnd}`;
}

function lateText({ continues }: AttemptDetails): string {
	return continues === undefined ? "" : `, in which the lost attempt ${continues} went on`;
}

/** Ms since the epoch. */
export function expiresAt(job: Job): number | undefined {
	return isFinal(job.state) && job.endedAt !== undefined ? job.endedAt + job.retainMs : undefined;
}

function retried(at: number): TimelineEvent {
	return { at, event: "retried", message: "The job was queued again by a retry." };
}
