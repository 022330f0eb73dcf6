/** Parses, changes and shows endpoint settings (D9, D27, D35). */
import { parseDuration, withDurations } from "../durations.ts";
import { ENDPOINT_DEFAULTS, ENDPOINT_ID, INIT_TIMEOUT_MS } from "./endpoint-schema.ts";
import type { ManagementSetting } from "./management-setting.ts";
import type { Schedule } from "../webhooks.ts";
import { type LimitChanges, LIMITED_OPERATIONS, STORED_MB, STREAM_CHUNKS, STREAM_MB, WHOLE_LIMITS } from "./limits.ts";
import type { Priority } from "../workers/priority.ts";
import { check, type Fault, isAbsent, isObject, type Read, type Schema, withDefaults } from "../../lib/schema.ts";

export { ENDPOINT_DEFAULTS } from "./endpoint-schema.ts";

/** The type of a launcher (D25), and the settings that it declares. */
export interface LauncherSettings {
	type: string;
}

/**
 * Settings of RunPod and Sluice (D27, D35), without those that modules define (`endpoint-member.ts`). Times in ms,
 * unless noted.
 */
export interface Endpoint {
	id: string;
	name: string;
	workersMin: number;
	workersMax: number;
	/** Seconds after which an idle worker above `workersMin` is stopped. */
	idleTimeout: number;
	executionTimeoutMs: number;
	scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
	scalerValue: number;
	launcher: LauncherSettings;
	env: Record<string, string>;
	limits: "off" | LimitChanges;
	/** How long results and records are kept. */
	retention: { run: number; runsync: number; records: number };
	leaseMs: number;
	/** Time from the stop signal to the end of the process (D18). */
	stopGraceMs: number;
	/** Bounds the time from a launched worker's start to its first call, and to the end of its warm-up. */
	initTimeoutMs: number;
	/** At least 1 with `gpuMemoryGb`. */
	gpusPerWorker: number;
	/** Part of each GPU, in 10^9 bytes; absent: the whole GPU. */
	gpuMemoryGb?: number;
	/** How idle workers give up their GPUs and get them again (D28); absent: they are stopped. */
	sleep?: SleepSettings;
	/** Whether a worker that uses more than `gpuMemoryGb` is stopped. */
	gpuMemoryEnforce: boolean;
	/** Decides which endpoint gets GPUs first. */
	priority: Priority;
	/** Whether workers get the `X-Request-Id` of a job's submission. */
	passRequestId: boolean;
	/** Warm-up: each launched worker first runs a job with this input. */
	warmup?: { input: unknown };
	/** How workers of earlier releases are replaced. */
	release: ReleaseSettings;
	/** Members of RunPod's management API that are no other settings (D49). */
	management?: ManagementSetting;
	webhooks: { schedule: Schedule; input: boolean };
	/** Signs webhooks (D21); never returned, published or logged. */
	webhookSecret?: string;
}

/** Settings of releases: numbers of workers, jobs and crashes; see `core/releases/`. */
export interface ReleaseSettings {
	maxSurge: number;
	failAfter: number;
	/** Absent: a new version is healthy with its first healthy worker. */
	canary?: CanarySettings;
}

/** The share of the jobs that a new version gets, and the bounds of its comparison with the version before. */
export interface CanarySettings {
	percent: number;
	minJobs: number;
	maxMs: number;
	/** Highest ratio of the p95 run times; 0: run times are not compared. */
	maxSlowdown: number;
}

/** Settings of sleep; a command is a program and its arguments, absent where the worker has its own. */
export interface SleepSettings {
	command?: string[];
	wakeCommand?: string[];
	/** Maximum time of each command, ms. */
	timeoutMs: number;
	/** Maximum time asleep, ms. */
	maxMs: number;
}

/** Queue ttl (spec 2.4). */
export const DEFAULT_TTL_MS = 86_400_000;

type Filled = Omit<Endpoint, "id" | "name" | "env" | "launcher" | "limits" | "warmup"> & {
	name?: string;
	warmup?: { input?: unknown };
	env: Record<string, string | number | boolean>;
	launcher: LauncherSettings;
	limits: unknown;
};

/** Returns every fault with its field and bound. `schema` is from `endpointSchema`; durations may be text. */
export function parseEndpoint(schema: Schema, id: string, given: unknown): Read<{ endpoint: Endpoint }> {
	const raw = withDurations(schema, given);
	const { initTimeoutMs, env: variables } = isObject(raw) ? raw : {};
	const initTimeout = isAbsent(initTimeoutMs) ? initTimeoutIn(variables) : undefined;
	const faults = [...check(ENDPOINT_ID, id, "id"), ...check(schema, raw)];
	if (initTimeout !== undefined && Number.isNaN(initTimeout))
		faults.push({ field: `env.${INIT_TIMEOUT}`, message: `must be seconds, such as 900, or a duration such as 15m.` });
	const crossed = workersCrossed(raw);
	if (crossed && !faults.some(({ field }) => field === "workersMin" || field === "workersMax")) faults.push(crossed);
	if (isObject(raw) && raw["gpuMemoryEnforce"] === true && isAbsent(raw["gpuMemoryGb"]))
		faults.push({ field: "gpuMemoryEnforce", message: "needs gpuMemoryGb, the part that is enforced." });
	if (isObject(raw) && raw["scalerType"] === "REQUEST_COUNT" && isFraction(raw["scalerValue"]))
		faults.push({ field: "scalerValue", message: "must be a whole number from 1 with scalerType REQUEST_COUNT." });
	if (faults.length > 0) return { ok: false, faults };
	const { name = id, env, launcher, limits, warmup: { input } = {}, ...rest } = withDefaults(schema, raw) as Filled;
	if (initTimeout !== undefined) rest.initTimeoutMs = initTimeout;
	const texts = Object.fromEntries(Object.entries(env).map(([variable, value]) => [variable, String(value)]));
	return {
		ok: true,
		endpoint: {
			id,
			name,
			...rest,
			gpusPerWorker: Math.max(rest.gpusPerWorker, rest.gpuMemoryGb === undefined ? 0 : 1),
			env: texts,
			launcher: readLauncher(launcher),
			limits: readLimits(limits),
			...(isAbsent(input) ? {} : { warmup: { input } }),
		},
	};
}

function isFraction(value: unknown): boolean {
	return typeof value === "number" && !Number.isInteger(value);
}

/** RunPod's variable for `initTimeoutMs`, in seconds. */
const INIT_TIMEOUT = "RUNPOD_INIT_TIMEOUT";

/** Returns the value of the variable in ms; undefined if it is not set, NaN if it is not a time. */
function initTimeoutIn(env: unknown): number | undefined {
	const given = isObject(env) ? env[INIT_TIMEOUT] : undefined;
	if (isAbsent(given) || given === "") return undefined;
	const ms = (typeof given === "string" ? parseDuration(given.trim()) : undefined) ?? Number(given) * 1000;
	if (!(ms > 0)) return Number.NaN;
	const [least, most] = INIT_TIMEOUT_MS;
	return Math.round(Math.min(Math.max(ms, least), most));
}

function workersCrossed(raw: unknown): Fault | undefined {
	if (!isObject(raw)) return undefined;
	const min = raw["workersMin"] ?? ENDPOINT_DEFAULTS.workersMin;
	const max = raw["workersMax"] ?? ENDPOINT_DEFAULTS.workersMax;
	return typeof min === "number" && typeof max === "number" && min > max
		? { field: "workersMin", message: `must not be over workersMax (${max}).` }
		: undefined;
}

function readLauncher({ type, ...settings }: LauncherSettings): LauncherSettings {
	const given = Object.entries(settings).filter(([, member]) => !isAbsent(member));
	return { type, ...Object.fromEntries(given) };
}

/** Reads limits: `false` becomes `off`; absent and `null` members are dropped. */
function readLimits(raw: unknown): Endpoint["limits"] {
	if (!isObject(raw)) return "off";
	const limits: LimitChanges = {};
	for (const name of WHOLE_LIMITS) if (!isAbsent(raw[name])) limits[name] = numberOrOff(raw[name]);
	for (const operation of LIMITED_OPERATIONS) {
		const given = raw[operation];
		if (!isObject(given)) continue;
		const { per10s, concurrent } = given;
		limits[operation] = {
			...(isAbsent(per10s) ? {} : { per10s: numberOrOff(per10s) }),
			...(isAbsent(concurrent) ? {} : { concurrent: numberOrOff(concurrent) }),
		};
	}
	return limits;
}

function numberOrOff(value: unknown): number | "off" {
	return typeof value === "number" ? value : "off";
}

/**
 * Applies a JSON merge patch (RFC 7396, D39) without a check: `null` restores the default. A launcher of another type
 * replaces the old one entirely, since settings differ by type.
 */
export function mergeSettings(current: Readonly<Record<string, unknown>>, patch: unknown): unknown {
	if (!isObject(patch)) return patch;
	const [before, after] = [current["launcher"], patch["launcher"]];
	const replaced = isObject(before) && isObject(after) && !isAbsent(after["type"]) && after["type"] !== before["type"];
	return merged(replaced ? { ...current, launcher: {} } : current, patch);
}

function merged(current: unknown, patch: unknown): unknown {
	if (!isObject(patch)) return patch;
	const members = new Map(isObject(current) ? Object.entries(current) : []);
	for (const [name, value] of Object.entries(patch)) {
		if (value === null) members.delete(name);
		else members.set(name, merged(members.get(name), value));
	}
	return Object.fromEntries(members);
}

/** Settings as clients see them: only the names in `env`, no webhook secret. */
export type ShownSettings = Omit<Endpoint, "env" | "webhookSecret"> & { env: string[] };

/** Returns the settings that callers who may read the endpoint see (D39). */
export function settingsOf(endpoint: Endpoint): ShownSettings {
	const { env, webhookSecret: _, ...settings } = endpoint;
	return { ...settings, env: Object.keys(env) };
}

/**
 * Returns the number of waiting jobs beyond which submissions are refused (spec 8 rule 2, D23); undefined: no bound.
 */
export function queueBound(endpoint: Endpoint): number | undefined {
	if (endpoint.limits === "off" || endpoint.limits.queue === "off") return undefined;
	return endpoint.limits.queue ?? Math.max(50, endpoint.workersMax * 500);
}

/** Returns the maximum bytes of all jobs of the endpoint (D43); undefined: no bound. */
export function storedBound({ limits }: Endpoint): number | undefined {
	const megabytes = limits === "off" ? "off" : (limits.storedMb ?? STORED_MB);
	return megabytes === "off" ? undefined : megabytes * 2 ** 20;
}

/** GPU seconds of a day's runs (D43); undefined: no bound. */
export function gpuBound({ limits }: Endpoint): number | undefined {
	const seconds = limits === "off" ? "off" : (limits.gpuSecondsPerDay ?? "off");
	return seconds === "off" ? undefined : seconds;
}

/** Returns the bounds on the chunks of a job (D43); undefined: no bound. */
export function streamBound({ limits }: Pick<Endpoint, "limits">): { bytes: number; chunks: number } | undefined {
	const megabytes = limits === "off" ? "off" : (limits.streamMb ?? STREAM_MB);
	return megabytes === "off" ? undefined : { bytes: megabytes * 2 ** 20, chunks: STREAM_CHUNKS };
}

/** Returns how long a result is kept after the end of the job, ms (D9). */
export function retentionOf(endpoint: Endpoint, operation: "run" | "runsync" | "openai"): number {
	return operation === "run" ? endpoint.retention.run : endpoint.retention.runsync;
}
