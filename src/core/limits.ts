/** Rate and concurrency limits of operations (spec 8, D24, D35). */

/** Operations by path segment. `retry` and `health` have no limits (D24). */
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

export type LimitedOperation = (typeof LIMITED_OPERATIONS)[number];

/** Inputs, results and chunks of an endpoint's jobs (D43), MB of 1,048,576 bytes. */
export const STORED_MB = 10_240;

/** Chunks of one job (D43): MB, and their number. */
export const STREAM_MB = 256;
export const STREAM_CHUNKS = 1_000_000;

/** Limits of one operation; undefined is unlimited. */
export interface Limits {
	/** Requests admitted in any 10 s. */
	per10s?: number;
	/** Requests in flight. */
	concurrent?: number;
}

/** Settings of an endpoint: `off`, or overrides of single limits. */
interface LimitSettings {
	limits:
		| "off"
		| Partial<
				Record<
					LimitedOperation,
					{ per10s?: number | "off" | undefined; concurrent?: number | "off" | undefined } | undefined
				>
		  >;
}

/** Spec 8. */
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

/** The limits of an operation at an endpoint: its overrides, else {@link DEFAULT_LIMITS}. */
export function limitsOf({ limits }: LimitSettings, operation: LimitedOperation): Readonly<Limits> {
	if (limits === "off") return NO_LIMITS;
	const own = limits[operation];
	const defaults = DEFAULT_LIMITS[operation];
	if (!own) return defaults;
	const { per10s = defaults.per10s ?? "off", concurrent = defaults.concurrent ?? "off" } = own;
	return { ...(per10s === "off" ? {} : { per10s }), ...(concurrent === "off" ? {} : { concurrent }) };
}
