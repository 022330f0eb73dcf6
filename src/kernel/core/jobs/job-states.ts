/** Job states and transitions: the stores' conditions, the reference page and the tests derive from this table. */

/** Spec 3. */
export const JOB_STATES = ["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Only `retry` leaves a final state (spec 3, D16). */
export const FINAL_STATES = ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"] as const satisfies readonly JobState[];

/**
 * - `start`: begins an attempt, with lease and deadline
 * - `settle`: sets the end and the result's expiry
 * - `front` / `back`: queues the job at that end, with a new ttl
 * - `loss`: counts a loss, and a retry if the job is queued again
 * - `close`: moves the running attempt into the history
 * - `clear`: removes output, error, chunks, cursor and losses, and begins the next run
 * - `stop`: asks the worker to stop
 * - `erase`: removes input, output, chunks, error and secrets; keeps the record
 * - `delete`: removes the job
 */
export type Effect = "start" | "settle" | "front" | "back" | "loss" | "close" | "clear" | "stop" | "erase" | "delete";

interface Rule {
	on: string;
	from: readonly JobState[];
	/** Absent for `erase` (state unchanged) and `delete`. */
	to?: JobState;
	effects: readonly Effect[];
	source: string;
}

/** In the order of the reference page. */
export const RULES = [
	{ on: "claim", from: ["IN_QUEUE"], to: "IN_PROGRESS", effects: ["start"], source: "spec 3" },
	{ on: "resume", from: ["IN_QUEUE"], to: "IN_PROGRESS", effects: ["start"], source: "D16" },
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
	{ on: "lose", from: ["IN_PROGRESS"], to: "IN_QUEUE", effects: ["loss", "close", "front"], source: "D16, D54" },
	{ on: "exhaust", from: ["IN_PROGRESS"], to: "FAILED", effects: ["loss", "close", "settle"], source: "D16, D54" },
	{ on: "release", from: ["IN_PROGRESS"], to: "IN_QUEUE", effects: ["close", "front"], source: "D16, D34, D54" },
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
	{ on: "forget", from: ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"], effects: ["delete"], source: "D9" },
] as const satisfies readonly Rule[];

export type JobEvent = (typeof RULES)[number]["on"];

const BY_EVENT = Object.fromEntries(RULES.map((rule): [JobEvent, Rule] => [rule.on, rule])) as Readonly<
	Record<JobEvent, Rule>
>;

export function ruleOf(on: JobEvent): Readonly<Rule> {
	return BY_EVENT[on];
}

export function allowed(state: JobState, on: JobEvent): boolean {
	return BY_EVENT[on].from.includes(state);
}

/** Undefined if the event is not allowed or sets no state. */
export function next(state: JobState, on: JobEvent): JobState | undefined {
	return allowed(state, on) ? BY_EVENT[on].to : undefined;
}

export function isFinal(state: JobState): boolean {
	return state !== "IN_QUEUE" && state !== "IN_PROGRESS";
}
