/**
 * States used as SQL literals, since partial indexes need them; taken from the rule table.
 * Statements that change a state take it as a parameter.
 */
import type { Attempt, AttemptEnd } from "../core/job.ts";
import { RULES } from "../core/job-states.ts";

/** The claim rule; the type checks that it is this row. */
const CLAIM: Extract<(typeof RULES)[number], { on: "claim" }> = RULES[0];

/** The state that claims take jobs from. */
export const WAITING = CLAIM.from[0];

/** The state of claimed jobs. */
export const RUNNING = CLAIM.to;

/** Attempt ends after which the worker is asked to stop (D18). */
export const STOPPED = ["cancelled", "timed_out"] as const satisfies readonly AttemptEnd[];

/** Values of an attempt's column `open`: ended, open, ended with its worker's process. */
const OVER = 0;
const OPEN = 1;
const KILLED = 2;

export function openColumn({ open, killed }: Pick<Attempt, "open" | "killed">): number {
	return open ? OPEN : killed ? KILLED : OVER;
}

/** The members of an attempt stored in its column `open`. */
export function openMembers(column: unknown): Pick<Attempt, "open" | "killed"> {
	return { open: column === OPEN, ...(column === KILLED && { killed: true }) };
}
