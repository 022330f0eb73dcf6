/**
 * Rate and concurrency limits: the table of section 8, and what an endpoint makes of it (spec 8,
 * D24, D35).
 */

/** Operations that have limits, by their word in the path. `retry` and `health` have none (D24). */
export const LIMITED_OPERATIONS = [
	"run",
	"runsync",
	"status",
	"status-sync",
	"stream",
	"cancel",
	"purge-queue",
	"openai",
	"requests",
] as const;

/** An operation with a budget of its own. */
export type LimitedOperation = (typeof LIMITED_OPERATIONS)[number];

/** Limits of one operation of one endpoint; what is undefined is not limited. */
export interface Limits {
	/** Requests admitted in any 10 s. */
	per10s?: number;
	/** Requests under way at once. */
	concurrent?: number;
}

/**
 * The part of an endpoint's settings that is read here: `off` for all, or changes to single
 * numbers.
 */
export interface LimitSettings {
	limits:
		| "off"
		| Partial<
				Record<
					LimitedOperation,
					| { per10s?: number | "off" | undefined; concurrent?: number | "off" | undefined }
					| undefined
				>
		  >;
}

/** The numbers of section 8. */
export const DEFAULT_LIMITS: Readonly<Record<LimitedOperation, Readonly<Limits>>> = {
	run: { per10s: 1000, concurrent: 200 },
	runsync: { per10s: 2000, concurrent: 400 },
	status: { per10s: 2000, concurrent: 400 },
	"status-sync": { per10s: 2000, concurrent: 400 },
	stream: { per10s: 2000, concurrent: 400 },
	cancel: { per10s: 100, concurrent: 20 },
	"purge-queue": { per10s: 2 },
	openai: { per10s: 2000, concurrent: 400 },
	requests: { per10s: 10, concurrent: 2 },
};

const NO_LIMITS: Readonly<Limits> = {};

/**
 * The limits of an operation at an endpoint: the endpoint's own number, nothing where it says
 * `off`, else the one of section 8.
 */
export function limitsOf({ limits }: LimitSettings, operation: LimitedOperation): Readonly<Limits> {
	if (limits === "off") return NO_LIMITS;
	const own = limits[operation];
	const standard = DEFAULT_LIMITS[operation];
	if (!own) return standard;
	const { per10s = standard.per10s ?? "off", concurrent = standard.concurrent ?? "off" } = own;
	return {
		...(per10s === "off" ? {} : { per10s }),
		...(concurrent === "off" ? {} : { concurrent }),
	};
}
