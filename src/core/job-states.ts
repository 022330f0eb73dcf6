/**
 * The life of a job as one table. States, events, the `next` function, the conditions of every
 * store dialect, the reference page and the conformance cases all derive from it; a new state or
 * transition is one row here.
 */

/** All states a job can be in (spec 3). */
export const JOB_STATES = [
	"IN_QUEUE",
	"IN_PROGRESS",
	"COMPLETED",
	"FAILED",
	"CANCELLED",
	"TIMED_OUT",
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** States that end a job; only `retry` leaves one (spec 3, D16). */
export const FINAL_STATES = [
	"COMPLETED",
	"FAILED",
	"CANCELLED",
	"TIMED_OUT",
] as const satisfies readonly JobState[];

/**
 * What a transition brings about besides the new state.
 * - `start`: a new attempt begins, with its lease and deadline
 * - `settle`: the end is stamped, the result kept, its expiry set
 * - `front` / `back`: the job joins the queue at that end, its ttl starts anew
 * - `loss`: the return counts as a loss and as a retry
 * - `close`: the running attempt goes into the history, over there or not
 * - `clear`: output, error, chunks, cursor and losses are removed
 * - `stop`: the worker is told to stop the run
 * - `erase`: input, output, chunks, error and secrets are removed; the record stays
 * - `delete`: nothing is left
 */
export type Effect =
	| "start"
	| "settle"
	| "front"
	| "back"
	| "loss"
	| "close"
	| "clear"
	| "stop"
	| "erase"
	| "delete";

interface Rule {
	on: string;
	from: readonly JobState[];
	/** The state afterwards; absent where it stays (`erase`) or nothing is left (`delete`). */
	to?: JobState;
	effects: readonly Effect[];
	/** Where the transition comes from: a section of the specification or a decision. */
	source: string;
}

/** The table. The order of rows is the order of the reference page. */
export const RULES = [
	{ on: "claim", from: ["IN_QUEUE"], to: "IN_PROGRESS", effects: ["start"], source: "spec 3" },
	{ on: "complete", from: ["IN_PROGRESS"], to: "COMPLETED", effects: ["settle"], source: "spec 3" },
	{ on: "fail", from: ["IN_PROGRESS"], to: "FAILED", effects: ["settle"], source: "spec 3" },
	{
		on: "overrun",
		from: ["IN_PROGRESS"],
		to: "TIMED_OUT",
		effects: ["settle", "close", "stop"],
		source: "spec 2.4, D15",
	},
	{ on: "lapse", from: ["IN_QUEUE"], to: "TIMED_OUT", effects: ["settle"], source: "D15" },
	{
		on: "lose",
		from: ["IN_PROGRESS"],
		to: "IN_QUEUE",
		effects: ["loss", "close", "front"],
		source: "D16",
	},
	{
		on: "exhaust",
		from: ["IN_PROGRESS"],
		to: "FAILED",
		effects: ["loss", "close", "settle"],
		source: "D16",
	},
	{
		on: "release",
		from: ["IN_PROGRESS"],
		to: "IN_QUEUE",
		effects: ["close", "front"],
		source: "D16, D34",
	},
	{
		on: "cancel",
		from: ["IN_QUEUE", "IN_PROGRESS"],
		to: "CANCELLED",
		effects: ["settle", "close", "stop"],
		source: "spec 3",
	},
	{
		on: "retry",
		from: ["FAILED", "TIMED_OUT"],
		to: "IN_QUEUE",
		effects: ["close", "clear", "back"],
		source: "spec 3, D37",
	},
	{ on: "purge", from: ["IN_QUEUE"], effects: ["delete"], source: "spec 3, D11" },
	{
		on: "expire",
		from: ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"],
		effects: ["erase"],
		source: "spec 3, D9",
	},
	{
		on: "forget",
		from: ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"],
		effects: ["delete"],
		source: "D9",
	},
] as const satisfies readonly Rule[];

/** Everything that can happen to a job. */
export type JobEvent = (typeof RULES)[number]["on"];

const BY_EVENT = Object.fromEntries(
	RULES.map((rule): [JobEvent, Rule] => [rule.on, rule]),
) as Readonly<Record<JobEvent, Rule>>;

/** The rule of an event: where it may start, where it leads, what it brings about. */
export function ruleOf(on: JobEvent): Readonly<Rule> {
	return BY_EVENT[on];
}

/** Whether `event` may happen to a job in `state`. */
export function allowed(state: JobState, on: JobEvent): boolean {
	return BY_EVENT[on].from.includes(state);
}

/**
 * The state after `event`, or undefined when the event is refused in this state or leaves no state
 * of its own.
 */
export function next(state: JobState, on: JobEvent): JobState | undefined {
	return allowed(state, on) ? BY_EVENT[on].to : undefined;
}

/** Whether a job in this state has ended. */
export function isFinal(state: JobState): boolean {
	return state !== "IN_QUEUE" && state !== "IN_PROGRESS";
}
