/**
 * The two states that partial indexes are made for, taken from the rule table; statements that move
 * jobs get states as parameters.
 */
import { RULES } from "../core/job-states.ts";

/** The rule of a claim; the type makes sure that it is this row. */
const CLAIM: Extract<(typeof RULES)[number], { on: "claim" }> = RULES[0];

/** The state that a claim takes jobs from. */
export const WAITING = CLAIM.from[0];

/** The state that a claim brings jobs to. */
export const RUNNING = CLAIM.to;
