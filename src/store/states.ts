/**
 * States that stand in statements: those that partial indexes are made for, taken from the rule
 * table, and how an attempt's end is stored. Statements that move jobs get states as parameters.
 */
import type { Attempt, AttemptEnd } from "../core/job.ts";
import { RULES } from "../core/job-states.ts";

/** The rule of a claim; the type makes sure that it is this row. */
const CLAIM: Extract<(typeof RULES)[number], { on: "claim" }> = RULES[0];

/** The state that a claim takes jobs from. */
export const WAITING = CLAIM.from[0];

/** The state that a claim brings jobs to. */
export const RUNNING = CLAIM.to;

/** Ends of attempts after which the worker is asked to stop (D18). */
export const STOPPED = ["cancelled", "timed_out"] as const satisfies readonly AttemptEnd[];

/** Values of the column `open` of an attempt: over, open, over with its worker's process. */
const OVER = 0;
const OPEN = 1;
const KILLED = 2;

export function openColumn({ open, killed }: Pick<Attempt, "open" | "killed">): number {
	return open ? OPEN : killed ? KILLED : OVER;
}

/** The members of an attempt that its column `open` holds. */
export function openMembers(column: unknown): Pick<Attempt, "open" | "killed"> {
	return { open: column === OPEN, ...(column === KILLED && { killed: true }) };
}
