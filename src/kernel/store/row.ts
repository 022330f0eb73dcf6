/** The row of a job as both dialects have it, and the states that their SQL names. */
import type { Attempt, AttemptEnd, Job } from "../core/jobs/job.ts";
import { RULES } from "../core/jobs/job-states.ts";
import type { JsonText } from "../lib/json/json-text.ts";

const CLAIM: Extract<(typeof RULES)[number], { on: "claim" }> = RULES[0];

export const WAITING = CLAIM.from[0];

export const RUNNING = CLAIM.to;

/** Attempt ends after which the worker is asked to stop (D18). */
export const STOPPED = ["cancelled", "timed_out"] as const satisfies readonly AttemptEnd[];

const OVER = 0;
const OPEN = 1;
const KILLED = 2;
/** Servers of an earlier version read it as over. */
const RETURNED = 3;

export function openColumn({ open, killed, returned }: Pick<Attempt, "open" | "killed" | "returned">): number {
	if (open) return OPEN;
	if (killed) return KILLED;
	return returned ? RETURNED : OVER;
}

export function openMembers(column: unknown): Pick<Attempt, "open" | "killed" | "returned"> {
	return {
		open: column === OPEN,
		...(column === KILLED && { killed: true }),
		...(column === RETURNED && { returned: true }),
	};
}

/** Never changed in place. */
export interface JobRow {
	readonly job: Job;
	readonly rank: number;
	readonly nextChunk: number;
	/** Number of the next chunk to deliver. */
	readonly cursor: number;
	/** Sizes of the input, and of the result and all chunks since the submission or a retry. */
	readonly inputBytes: number;
	readonly outputBytes: number;
}

/** What a job counts for its endpoint's `limits.storedMb` (D43). */
export function storedBytes({ job, inputBytes, outputBytes }: JobRow): number {
	return job.erased ? 0 : inputBytes + outputBytes;
}

export interface Result {
	output?: JsonText | undefined;
	/** Size of a large output that was not read. */
	outputBytes?: number;
	error?: string | undefined;
}
