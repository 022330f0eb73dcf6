/**
 * States used as SQL literals, since partial indexes need them. Statements that change a state take it as a parameter.
 */
import type { Attempt, AttemptEnd } from "../core/jobs/job.ts";
import { RULES } from "../core/jobs/job-states.ts";

const CLAIM: Extract<(typeof RULES)[number], { on: "claim" }> = RULES[0];

export const WAITING = CLAIM.from[0];

export const RUNNING = CLAIM.to;

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
