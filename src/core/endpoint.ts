/** Parses, changes and shows endpoint settings (D9, D27, D35). Schema: `endpoint-schema.ts`. */
import { ENDPOINT_DEFAULTS, ENDPOINT_ID } from "./endpoint-schema.ts";
import type { Schedule } from "./delivery.ts";
import type { Fault } from "./errors.ts";
import { LIMITED_OPERATIONS, type LimitedOperation, STORED_MB, STREAM_CHUNKS, STREAM_MB } from "./limits.ts";
import { check, isAbsent, isObject, type Schema, withDefaults } from "./schema.ts";

export { ENDPOINT_DEFAULTS } from "./endpoint-schema.ts";

/** Launcher type (D25) plus the settings that this launcher declares. */
export interface LauncherSettings {
	type: string;
}

/** Numbers that hold for an endpoint as a whole (D23, D43). */
const WHOLE_LIMITS = ["queue", "storedMb", "streamMb"] as const;

/** Overrides of the limits in spec 8 (D24, D35). */
type LimitChanges = Partial<Record<(typeof WHOLE_LIMITS)[number], number | "off">> &
	Partial<Record<LimitedOperation, { per10s?: number | "off"; concurrent?: number | "off" }>>;

/** Endpoint settings, RunPod's and Sluice's (D27, D35). Times in ms unless noted. */
export interface Endpoint {
	id: string;
	name: string;
	workersMin: number;
	workersMax: number;
	/** Seconds until an idle worker above `workersMin` stops. */
	idleTimeout: number;
	executionTimeoutMs: number;
	scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
	scalerValue: number;
	launcher: LauncherSettings;
	/** Extra environment of launched workers. */
	env: Record<string, string>;
	limits: "off" | LimitChanges;
	/** Retention of results per operation, and of records. */
	retention: { run: number; runsync: number; records: number };
	leaseMs: number;
	/** Time from the stop signal to the end of the process (D18). */
	stopGraceMs: number;
	/** Time from a launched worker's start to its first call. */
	initTimeoutMs: number;
	gpusPerWorker: number;
	webhooks: { schedule: Schedule; disableAfterMs: number | "off" };
	/** Signs webhooks (D21). Secret: never returned, published or logged. */
	webhookSecret?: string;
}

/** Default queue ttl (spec 2.4), ms. */
export const DEFAULT_TTL_MS = 86_400_000;

/** Valid settings with defaults. */
type Read = Omit<Endpoint, "id" | "name" | "env" | "launcher" | "limits"> & {
	name?: string;
	env: Record<string, string | number | boolean>;
	launcher: LauncherSettings;
	limits: unknown;
};

/**
 * Parses settings from `sluice.yaml`, or lists every fault with its field and bound. `schema` is
 * from `endpointSchema`.
 */
export function parseEndpoint(
	schema: Schema,
	id: string,
	raw: unknown,
): { ok: true; endpoint: Endpoint } | { ok: false; faults: Fault[] } {
	const faults = [...check(ENDPOINT_ID, id, "id"), ...check(schema, raw)];
	const crossed = workersCrossed(raw);
	if (crossed && !faults.some(({ field }) => field === "workersMin" || field === "workersMax")) faults.push(crossed);
	if (faults.length > 0) return { ok: false, faults };
	const { name = id, env, launcher, limits, ...rest } = withDefaults(schema, raw) as Read;
	const texts = Object.fromEntries(Object.entries(env).map(([variable, value]) => [variable, String(value)]));
	return {
		ok: true,
		endpoint: {
			id,
			name,
			...rest,
			env: texts,
			launcher: readLauncher(launcher),
			limits: readLimits(limits),
			webhooks: { ...rest.webhooks, disableAfterMs: numberOrOff(rest.webhooks.disableAfterMs) },
		},
	};
}

function workersCrossed(raw: unknown): Fault | undefined {
	if (!isObject(raw)) return undefined;
	const min = raw["workersMin"] ?? ENDPOINT_DEFAULTS.workersMin;
	const max = raw["workersMax"] ?? ENDPOINT_DEFAULTS.workersMax;
	return typeof min === "number" && typeof max === "number" && min > max
		? { field: "workersMin", message: `must not be over workersMax (${max}).` }
		: undefined;
}

/** Drops `null` members. */
function readLauncher({ type, ...settings }: LauncherSettings): LauncherSettings {
	const given = Object.entries(settings).filter(([, member]) => !isAbsent(member));
	return { type, ...Object.fromEntries(given) };
}

/** `false` becomes `off`; absent and `null` members are dropped. */
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
 * Applies a JSON merge patch (RFC 7396, D39): objects merge, `null` restores the default; the
 * result is unchecked. A launcher of another type replaces the old one entirely, since settings
 * differ by type.
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

/** Settings without secrets: only the names in `env`, no webhook secret. */
export type ShownSettings = Omit<Endpoint, "env" | "webhookSecret"> & { env: string[] };

/** The settings shown to callers who may read the endpoint (D39). */
export function settingsOf(endpoint: Endpoint): ShownSettings {
	const { env, webhookSecret: _, ...settings } = endpoint;
	return { ...settings, env: Object.keys(env) };
}

/**
 * Submissions are refused while more jobs than this wait (spec 8 rule 2, D23); undefined: no bound.
 */
export function queueBound(endpoint: Endpoint): number | undefined {
	if (endpoint.limits === "off" || endpoint.limits.queue === "off") return undefined;
	return endpoint.limits.queue ?? Math.max(50, endpoint.workersMax * 500);
}

/** Bytes that the endpoint's jobs may have stored (D43); undefined: no bound. */
export function storedBound({ limits }: Endpoint): number | undefined {
	const megabytes = limits === "off" ? "off" : (limits.storedMb ?? STORED_MB);
	return megabytes === "off" ? undefined : megabytes * 2 ** 20;
}

/** What a job's chunks may have (D43); undefined: no bound. */
export function streamBound({ limits }: Pick<Endpoint, "limits">): { bytes: number; chunks: number } | undefined {
	const megabytes = limits === "off" ? "off" : (limits.streamMb ?? STREAM_MB);
	return megabytes === "off" ? undefined : { bytes: megabytes * 2 ** 20, chunks: STREAM_CHUNKS };
}

/** Retention of a result after the end, ms (D9). */
export function retentionOf(endpoint: Endpoint, operation: "run" | "runsync" | "openai"): number {
	return operation === "run" ? endpoint.retention.run : endpoint.retention.runsync;
}
