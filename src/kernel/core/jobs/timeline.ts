/** The attempts of a job, and why it waits (D29, D39). */
import type { Attempt, Job } from "./job.ts";
import { isFinal } from "./job-states.ts";
import { isContinued } from "./job-transitions.ts";
import { withFullStop } from "../../lib/text.ts";
import type { WorkerReasonCode } from "../workers/worker-reason.ts";

/** Times are ms since the epoch. */
export interface AttemptDetails {
	attempt: number;
	worker: string;
	startedAt: number;
	endedAt?: number;
	end: Attempt["end"] | "running";
	/** The worker may still run it (D16 Fence). */
	open: boolean;
	/** How far the stop of a cancelled or timed out run is (D18). */
	stop?: (typeof STOP_STEPS)[number];
	/** Whether its worker gave the job back (D54). */
	returned?: boolean;
	/** Such as "exit code 7", or why its worker gave the job back. */
	workerEnd?: string;
	/** The lost attempt that it continues: its worker posted about it late (D16 Late reports). */
	continues?: number;
}

/** Stop requested, reported by the worker, process ended (D18). */
export const STOP_STEPS = ["unconfirmed", "confirmed", "killed"] as const;

/** Returns the attempts, the oldest first; the last one is from the job's record. */
export function attemptsOf(job: Job, history: readonly Attempt[]): AttemptDetails[] {
	const attempts = endedAndPresent(job, history);
	return attempts.map((details, index) => {
		const continued = attempts.slice(0, index).findLast((before) => isContinued(before, details));
		return continued ? { ...details, continues: continued.attempt } : details;
	});
}

function endedAndPresent(job: Job, history: readonly Attempt[]): AttemptDetails[] {
	const attempts = history.map((past): AttemptDetails => {
		const { missed: _, signAt: _signAt, killed, ...details } = past;
		if (past.end !== "cancelled" && past.end !== "timed_out") return details;
		return { ...details, stop: past.open ? "unconfirmed" : killed ? "killed" : "confirmed" };
	});
	const { worker, startedAt, attempt, endedAt } = job;
	if (worker === undefined || startedAt === undefined || attempts.some((past) => past.attempt === attempt))
		return attempts;
	if (!isFinal(job.state) || endedAt === undefined)
		return [...attempts, { attempt, worker, startedAt, end: "running", open: true }];
	const end = job.state === "COMPLETED" ? "completed" : "failed";
	return [...attempts, { attempt, worker, startedAt, endedAt, end, open: false }];
}

/** D29. `no_worker`: Sluice does not start workers; `low_priority`: the job starts none (D20). */
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

export interface Reason {
	code: (typeof REASON_CODES)[number];
	message: string;
	/** Start of the worker that starts, ms since the epoch. */
	since?: number | undefined;
}

/** Waiting jobs that were submitted before are counted up to this number. */
export const MOST_AHEAD = 100;

/** Workers are ids. */
export interface WaitSample {
	endpoint: string;
	paused: boolean;
	external: boolean;
	workersMax: number;
	idle: readonly string[];
	busy: readonly string[];
	starting: readonly string[];
	/** When the first of the starting workers was started, ms since the epoch. */
	startingSince?: number | undefined;
	waiting?: string | undefined;
	/** Whether one of the starting workers runs its warm-up. */
	isWarming?: boolean;
	/** Workers that may still run an old attempt of the job. */
	fenced: readonly string[];
	/** Last failed start or early exit, while starts are paused. */
	crashing?: string | undefined;
	crashCode?: WorkerReasonCode | undefined;
	withoutGpu?: string | undefined;
	onlyLowPriority?: boolean;
	/** Waiting jobs that were submitted before, counted up to one more than {@link MOST_AHEAD}. */
	ahead?: number | undefined;
}

export function waitReason(s: WaitSample): Reason {
	const present = [...s.idle, ...s.busy];
	const atMaximum = !s.external && present.length + s.starting.length >= s.workersMax;
	if (s.paused)
		return {
			code: "paused",
			message:
				`Endpoint '${s.endpoint}' is paused: jobs are queued but not started. ` + "Resume the endpoint to start them.",
		};
	if (!s.external && s.workersMax === 0)
		return {
			code: "no_worker_allowed",
			message: `Endpoint '${s.endpoint}' cannot have workers: its workersMax is 0. Raise it.`,
		};
	if (present.length > 0 && present.every((id) => s.fenced.includes(id)))
		return {
			code: "old_attempt_running",
			message:
				`Worker ${present.join(", ")} may still run an earlier attempt of this job; the job ` +
				"waits for its end or for another worker.",
		};
	if (present.length > 0 && s.idle.length === 0)
		return {
			code: "workers_busy",
			message: `${busyText(s, atMaximum)}${aheadText(s.ahead)}.`,
		};
	if (s.idle.length > 0) return { code: "worker_starting", message: "A worker is idle and is about to take the job." };
	if (s.starting.length > 0)
		return {
			code: "worker_starting",
			message:
				s.waiting === undefined
					? `Worker ${s.starting.join(", ")} is starting${s.isWarming ? ": it runs its warm-up" : ""}.`
					: `Worker ${s.starting.join(", ")} does not run yet: ${withFullStop(s.waiting)}`,
			since: s.startingSince,
		};
	if (s.crashing !== undefined) {
		const what = s.crashCode === "start_failed" ? "No worker could be started" : "Workers exit before taking a job";
		return { code: "workers_crashing", message: `${what}: ${withFullStop(s.crashing)}` };
	}
	if (s.withoutGpu !== undefined) return { code: "no_gpu_free", message: s.withoutGpu };
	if (s.external)
		return {
			code: "no_worker",
			message:
				`No worker is attached to endpoint '${s.endpoint}'. Start one with the variables that ` +
				`'sluice worker-env ${s.endpoint}' prints.`,
		};
	if (s.onlyLowPriority)
		return {
			code: "low_priority",
			message:
				"Jobs of low priority start no workers: it runs once another job has started one. To " +
				"avoid the wait, submit it without lowPriority or raise workersMin.",
		};
	return { code: "worker_starting", message: "A worker is about to be started." };
}

function busyText({ busy, workersMax }: WaitSample, atMaximum: boolean): string {
	const all = busy.length === 1 ? "The only worker is" : `All ${busy.length} workers are`;
	return `${all} busy${atMaximum ? `, and workersMax is ${workersMax}` : ""}`;
}

function aheadText(ahead = 0): string {
	if (ahead === 0) return "";
	if (ahead > MOST_AHEAD) return `; over ${MOST_AHEAD} waiting jobs were submitted before`;
	return ahead === 1 ? "; 1 waiting job was submitted before" : `; ${ahead} waiting jobs were submitted before`;
}
