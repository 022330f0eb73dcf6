/**
 * The story of a job for operators: its attempts, the running one included, and why it waits (D29,
 * D39). Pure.
 */
import type { Attempt, Job } from "./job.ts";
import { isFinal } from "./job-states.ts";

/** One attempt as told: `end` is `running` while it runs. Times are ms since the epoch. */
export interface AttemptDetails {
	attempt: number;
	worker: string;
	startedAt: number;
	endedAt?: number;
	end: Attempt["end"] | "running";
	/** The worker may still be at it (D16 Fence). */
	open: boolean;
	/** What ended a run that was to stop (D18); absent for others. */
	stop?: (typeof STOP_STEPS)[number];
}

/**
 * The steps of a stop (D18): told to stop and nothing known since, over by the worker's word, over
 * with its process.
 */
export const STOP_STEPS = ["unconfirmed", "confirmed", "killed"] as const;

/**
 * All attempts, oldest first: those of the history, and the last one, which stands in the job's own
 * record.
 */
export function attemptsOf(job: Job, history: readonly Attempt[]): AttemptDetails[] {
	const told: AttemptDetails[] = history.map((past) => {
		const { attempt, worker, startedAt, endedAt, end, open } = past;
		const told = { attempt, worker, startedAt, endedAt, end, open };
		return end === "cancelled" || end === "timed_out" ? { ...told, stop: stopStep(past) } : told;
	});
	const { worker, startedAt, attempt, endedAt } = job;
	if (
		worker === undefined ||
		startedAt === undefined ||
		told.some((past) => past.attempt === attempt)
	)
		return told;
	if (!isFinal(job.state) || endedAt === undefined)
		return [...told, { attempt, worker, startedAt, end: "running", open: true }];
	return [
		...told,
		{
			attempt,
			worker,
			startedAt,
			endedAt,
			end: job.state === "COMPLETED" ? "completed" : "failed",
			open: false,
		},
	];
}

function stopStep({ open, killed }: Attempt): (typeof STOP_STEPS)[number] {
	if (open) return "unconfirmed";
	return killed ? "killed" : "confirmed";
}

/**
 * Codes of {@link waitReason} (D29); `no_worker` is for endpoints whose workers others start,
 * `low_priority` for jobs that start none (D20).
 */
export const REASON_CODES = [
	"no_worker_allowed",
	"no_worker",
	"worker_starting",
	"workers_busy",
	"workers_crashing",
	"paused",
	"old_attempt_running",
	"no_gpu_free",
	"low_priority",
] as const;

/** Why a job waits. */
export interface Reason {
	code: (typeof REASON_CODES)[number];
	message: string;
}

/** What is looked at to tell why a job waits. Workers are ids. */
export interface WaitSample {
	endpoint: string;
	paused: boolean;
	/** Workers are started by others. */
	external: boolean;
	workersMax: number;
	idle: readonly string[];
	busy: readonly string[];
	starting: readonly string[];
	/** Workers that may still run an old attempt of the job. */
	fenced: readonly string[];
	/** What the last failed start or early end of a worker said, while starting is held back. */
	crashing?: string | undefined;
	/** Why a worker that is wanted gets no GPU, as a sentence. */
	withoutGpu?: string | undefined;
	/** It is of low priority, and no other job waits. */
	onlyLowPriority?: boolean;
}

/** Why a waiting job waits; the first that holds. */
export function waitReason(s: WaitSample): Reason {
	const present = [...s.idle, ...s.busy];
	if (s.paused)
		return {
			code: "paused",
			message: `Endpoint '${s.endpoint}' is paused: jobs are accepted and queued, not handed out. Resume it to go on.`,
		};
	if (!s.external && s.workersMax === 0)
		return {
			code: "no_worker_allowed",
			message: `Endpoint '${s.endpoint}' may have no worker: its workersMax is 0. Raise it.`,
		};
	if (present.length > 0 && present.every((id) => s.fenced.includes(id)))
		return {
			code: "old_attempt_running",
			message: `Worker ${present.join(", ")} may still run an earlier attempt of this job; the job waits until that is over or for another worker.`,
		};
	if (present.length > 0 && s.idle.length === 0)
		return {
			code: "workers_busy",
			message: `All ${s.busy.length} workers are busy${!s.external && present.length + s.starting.length >= s.workersMax ? `, and workersMax is ${s.workersMax}` : ""}.`,
		};
	if (s.idle.length > 0)
		return { code: "worker_starting", message: "A worker is free and is about to take it." };
	if (s.starting.length > 0)
		return { code: "worker_starting", message: `Worker ${s.starting.join(", ")} is starting.` };
	if (s.crashing !== undefined)
		return {
			code: "workers_crashing",
			message: `Workers of this endpoint end before they work: ${s.crashing.replace(/\.?$/, ".")}`,
		};
	if (s.withoutGpu !== undefined) return { code: "no_gpu_free", message: s.withoutGpu };
	if (s.external)
		return {
			code: "no_worker",
			message: `No worker is attached to endpoint '${s.endpoint}'. Start one with the variables that 'sluice worker-env ${s.endpoint}' prints.`,
		};
	if (s.onlyLowPriority)
		return {
			code: "low_priority",
			message:
				"A job of low priority starts no worker: it runs once another job has started one. Submit it without lowPriority, or raise workersMin, if it must not wait.",
		};
	return { code: "worker_starting", message: "A worker is about to be started." };
}
