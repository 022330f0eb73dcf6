/** An endpoint's settings, their defaults and bounds (D27, D35, D9): one table that the file, `/v1` and the console share. */
import type { Fault } from "./errors.ts";

/** How an endpoint gets its workers (D25). */
export type LauncherSettings =
  | { type: "process"; command: string[]; cwd?: string }
  | { type: "external" };

/** Settings of an endpoint with RunPod's names and ours (D27, D35). Times in ms unless said. */
export interface Endpoint {
  id: string;
  name: string;
  workersMin: number;
  workersMax: number;
  /** Seconds an idle worker above `workersMin` stays. */
  idleTimeout: number;
  executionTimeoutMs: number;
  scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
  scalerValue: number;
  launcher: LauncherSettings;
  /** Environment of launched workers, beside what they need to find the service. */
  env: Record<string, string>;
  /** `off`, or numbers per operation (section 8 of the specification is the default). */
  limits: "off" | { queue?: number | "off" };
  /** How long results of each operation and records are kept. */
  retention: { run: number; runsync: number; records: number };
  leaseMs: number;
  /** From the stop signal to the end of the process (D18). */
  stopGraceMs: number;
}

const DAY_MS = 86_400_000;

/** Longest queue wait by default (spec 2.4), ms. */
export const DEFAULT_TTL_MS = DAY_MS;

/** Where nothing is said (D9, D16, D18, D27). */
export const ENDPOINT_DEFAULTS = {
  workersMin: 0,
  workersMax: 3,
  idleTimeout: 5,
  executionTimeoutMs: 600_000,
  scalerType: "QUEUE_DELAY",
  scalerValue: 4,
  retention: { run: 30 * 60_000, runsync: 60_000, records: 7 * DAY_MS },
  leaseMs: 20_000,
  stopGraceMs: 5_000,
} as const;

/** Bounds of the numeric settings, inclusive. */
const BOUNDS = {
  workersMin: [0, 1000],
  workersMax: [0, 1000],
  idleTimeout: [1, 3600],
  executionTimeoutMs: [5001, Number.MAX_SAFE_INTEGER],
  scalerValue: [1, 1_000_000],
  leaseMs: [2000, 600_000],
  stopGraceMs: [0, 600_000],
} as const satisfies Partial<Record<keyof Endpoint, readonly [number, number]>>;

const RETENTION_BOUND = [0, 365 * DAY_MS] as const;
const ID_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;
const KNOWN = new Set([
  "name", "workersMin", "workersMax", "idleTimeout", "executionTimeoutMs", "scalerType", "scalerValue", "launcher", "env",
  "limits", "retention", "leaseMs", "stopGraceMs", "webhookSecret",
]);

/** Whether this can be an endpoint's id in a path (D35). */
export function isEndpointId(id: string): boolean {
  return ID_PATTERN.test(id);
}

/** Reads settings as they stand in `sluice.yaml` into an {@link Endpoint}, or lists every fault with its field and bound. */
export function readEndpoint(id: string, raw: unknown): { ok: true; endpoint: Endpoint } | { ok: false; faults: Fault[] } {
  const faults: Fault[] = [];
  const bad = (field: string, message: string): void => void faults.push({ field, message });
  if (!isEndpointId(id)) bad("id", "must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -");
  const from = isObject(raw) ? raw : {};
  if (!isObject(raw)) bad("", "must be a mapping of settings");
  for (const key of Object.keys(from)) if (!KNOWN.has(key)) bad(key, `is not a setting; known are ${[...KNOWN].join(", ")}`);

  const number = (key: keyof typeof BOUNDS): number => {
    const value = from[key] ?? ENDPOINT_DEFAULTS[key];
    const [low, high] = BOUNDS[key];
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= low && value <= high) return value;
    bad(key, `must be a whole number from ${low} to ${high}`);
    return low;
  };
  const endpoint: Endpoint = {
    id,
    name: typeof from["name"] === "string" ? from["name"] : id,
    workersMin: number("workersMin"),
    workersMax: number("workersMax"),
    idleTimeout: number("idleTimeout"),
    executionTimeoutMs: number("executionTimeoutMs"),
    scalerType: ENDPOINT_DEFAULTS.scalerType,
    scalerValue: number("scalerValue"),
    launcher: readLauncher(from["launcher"], bad),
    env: readEnv(from["env"], bad),
    limits: readLimits(from["limits"], bad),
    retention: readRetention(from["retention"], bad),
    leaseMs: number("leaseMs"),
    stopGraceMs: number("stopGraceMs"),
  };
  const scaler = from["scalerType"] ?? ENDPOINT_DEFAULTS.scalerType;
  if (scaler === "QUEUE_DELAY" || scaler === "REQUEST_COUNT") endpoint.scalerType = scaler;
  else bad("scalerType", "must be QUEUE_DELAY or REQUEST_COUNT");
  if (endpoint.workersMin > endpoint.workersMax) bad("workersMin", `must not be over workersMax (${endpoint.workersMax})`);
  if (from["name"] !== undefined && (typeof from["name"] !== "string" || from["name"].length > 191)) bad("name", "must be text of at most 191 characters");
  return faults.length > 0 ? { ok: false, faults } : { ok: true, endpoint };
}

type Bad = (field: string, message: string) => void;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readLauncher(raw: unknown, bad: Bad): LauncherSettings {
  if (raw === undefined) return { type: "external" };
  if (!isObject(raw)) bad("launcher", "must be a mapping such as { type: process, command: [node, worker.js] }");
  else if (raw["type"] === "external") return { type: "external" };
  else if (raw["type"] === "process") {
    const { command, cwd } = raw;
    if (!Array.isArray(command) || command.length === 0 || !command.every((part) => typeof part === "string")) {
      bad("launcher.command", "must be a list of the command and its arguments, such as [node, worker.js]");
    } else if (cwd !== undefined && typeof cwd !== "string") bad("launcher.cwd", "must be the path of a directory");
    else return { type: "process", command, ...(cwd === undefined ? {} : { cwd }) };
  } else if (raw["type"] === "docker" || raw["type"] === "kubernetes") bad("launcher.type", `'${raw["type"]}' is not available yet; use process, or external with workers started by you`);
  else bad("launcher.type", "must be process or external");
  return { type: "external" };
}

function readEnv(raw: unknown, bad: Bad): Record<string, string> {
  if (raw === undefined) return {};
  if (!isObject(raw)) {
    bad("env", "must be a mapping of names to values");
    return {};
  }
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") env[name] = String(value);
    else bad(`env.${name}`, "must be text, a number or a boolean");
  }
  return env;
}

function readLimits(raw: unknown, bad: Bad): Endpoint["limits"] {
  if (raw === undefined) return {};
  if (raw === "off" || raw === false) return "off";
  if (!isObject(raw)) {
    bad("limits", "must be off, or a mapping of operations to { per10s, concurrent } and queue");
    return {};
  }
  const queue = raw["queue"];
  if (queue === undefined) return {};
  if (queue === "off" || queue === false) return { queue: "off" };
  if (typeof queue === "number" && Number.isSafeInteger(queue) && queue >= 0) return { queue };
  bad("limits.queue", "must be off or a whole number from 0");
  return {};
}

function readRetention(raw: unknown, bad: Bad): Endpoint["retention"] {
  const retention = { ...ENDPOINT_DEFAULTS.retention };
  if (raw === undefined) return retention;
  if (!isObject(raw)) {
    bad("retention", "must be a mapping of run, runsync and records to ms");
    return retention;
  }
  const [low, high] = RETENTION_BOUND;
  const read: Endpoint["retention"] = { ...retention };
  for (const [key, value] of Object.entries(raw)) {
    if (key !== "run" && key !== "runsync" && key !== "records") bad(`retention.${key}`, "is not a setting; known are run, runsync and records");
    else if (typeof value !== "number" || !Number.isSafeInteger(value) || value < low || value > high) bad(`retention.${key}`, `must be a whole number of ms from ${low} to ${high}`);
    else read[key] = value;
  }
  return read;
}

/** The number of waiting jobs at which submissions are refused: over 50 and over `workersMax * 500` (spec 8 rule 2, D23); undefined without a bound. */
export function queueBound(endpoint: Endpoint): number | undefined {
  if (endpoint.limits === "off" || endpoint.limits.queue === "off") return undefined;
  return endpoint.limits.queue ?? Math.max(50, endpoint.workersMax * 500);
}

/** How long a result of this operation is kept after the end, ms (D9). */
export function retentionOf(endpoint: Endpoint, operation: "run" | "runsync" | "openai"): number {
  return operation === "run" ? endpoint.retention.run : endpoint.retention.runsync;
}
