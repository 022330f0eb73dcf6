/**
 * States used as SQL literals, since partial indexes need them. Statements that change a state take it as a parameter.
 */
import type { Attempt, AttemptEnd } from "../core/jobs/job.ts";
import { isFinal, type JobState, RULES } from "../core/jobs/job-states.ts";

const CLAIM: Extract<(typeof RULES)[number], { on: "claim" }> = RULES[0];

export const WAITING = CLAIM.from[0];

export const RUNNING = CLAIM.to;

const COMPLETED: JobState = "COMPLETED";

/** States with an index for lists. Completed jobs, which most are, are found among all (decision 0056). */
export function isSeldom(state: JobState): boolean {
	return isFinal(state) && state !== COMPLETED;
}

/** The condition of that index. */
export const SELDOM = `state NOT IN ('${WAITING}', '${RUNNING}', '${COMPLETED}')`;

/** Attempt ends after which the worker is asked to stop (D18). */
export const STOPPED = ["cancelled", "timed_out"] as const satisfies readonly AttemptEnd[];

const OVER = 0;
const OPEN = 1;
const KILLED = 2;

export function openColumn({ open, killed }: Pick<Attempt, "open" | "killed">): number {
	return open ? OPEN : killed ? KILLED : OVER;
}

export function openMembers(column: unknown): Pick<Attempt, "open" | "killed"> {
	return { open: column === OPEN, ...(column === KILLED && { killed: true }) };
}
