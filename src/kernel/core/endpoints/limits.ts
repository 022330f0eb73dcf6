/** Rate and concurrency limits of operations (spec 8, D24, D35). */

/** Path segments. `retry` and `health` have no limits (D24). */
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

/** Default maximum of an endpoint's inputs, results and chunks, MB of 1,048,576 bytes (D43). */
export const STORED_MB = 10_240;

/** Default maximum of the chunks of one job, MB (D43). */
export const STREAM_MB = 256;
export const STREAM_CHUNKS = 1_000_000;

export interface Limits {
	/** Requests admitted in any 10 s. */
	per10s?: number;
	concurrent?: number;
}

/** Limits of the endpoint as a whole (D23, D43). */
export const WHOLE_LIMITS = ["queue", "storedMb", "streamMb", "gpuSecondsPerDay"] as const;

/** Limits that differ from the defaults (D24, D35). */
export type LimitChanges = Partial<Record<(typeof WHOLE_LIMITS)[number], number | "off">> &
	Partial<Record<LimitedOperation, { per10s?: number | "off"; concurrent?: number | "off" }>>;

/** Defaults of the specification (spec 8). */
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

export function limitsOf({ limits }: { limits: "off" | LimitChanges }, operation: LimitedOperation): Readonly<Limits> {
	if (limits === "off") return NO_LIMITS;
	const own = limits[operation];
	const defaults = DEFAULT_LIMITS[operation];
	if (!own) return defaults;
	const { per10s = defaults.per10s ?? "off", concurrent = defaults.concurrent ?? "off" } = own;
	return { ...(per10s === "off" ? {} : { per10s }), ...(concurrent === "off" ? {} : { concurrent }) };
}
