/** What the service is told: flags, environment, `sluice.yaml` (D34, D35). One pure function; all problems at once, each with its field and bound. */
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import type { Endpoint } from "./core/endpoint.ts";
import { readEndpoint } from "./core/endpoint.ts";

/** Everything a service is started with. */
export interface Config {
  host: string;
  port: number;
  /** Path of the SQLite file. */
  storePath: string;
  endpoints: Endpoint[];
  /** Address that workers and snippets use; by default the one it listens on. */
  publicUrl?: string | undefined;
  /** Admin key of the environment (D30). */
  apiKey?: string | undefined;
  /** Text from which the key for secrets is made (D22). */
  secret?: string | undefined;
  /** How long running jobs get at a stop, ms (D34). */
  drainMs: number;
}

/** Where a configuration comes from. `flags` are those of the command line by name. */
export interface Sources {
  flags: Readonly<Record<string, string | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Reads a text file; undefined when it is not there. */
  readFile: (path: string) => string | undefined;
}

const STORE_DEFAULT = "sqlite:./data/sluice.db";
const KEY_SHORTEST = 8;
const FILE_KEYS = new Set(["endpoints", "publicUrl", "cors", "webhooks"]);
const DEFAULT_FILE = "sluice.yaml";

/** The configuration, or every problem found, a sentence each. */
export function loadConfig({ flags, env, cwd, readFile }: Sources): { ok: true; config: Config } | { ok: false; problems: string[] } {
  const problems: string[] = [];
  const given = (flag: string, name: string): string | undefined => flags[flag] ?? (env[name] === "" ? undefined : env[name]);

  const named = given("config", "SLUICE_CONFIG");
  const path = resolve(cwd, named ?? DEFAULT_FILE);
  const text = readFile(path);
  if (text === undefined && named !== undefined) problems.push(`--config: there is no readable file at ${path}.`);
  const file = text === undefined ? {} : readYaml(text, path, problems);
  for (const key of Object.keys(file)) if (!FILE_KEYS.has(key)) problems.push(`${path}: '${key}' is not a setting; known are ${[...FILE_KEYS].join(", ")}.`);

  const config: Config = {
    host: given("host", "SLUICE_HOST") ?? "127.0.0.1",
    port: wholeNumber(given("port", "SLUICE_PORT") ?? "8080", "--port", [0, 65_535], problems),
    storePath: readStore(given("store", "SLUICE_STORE") ?? STORE_DEFAULT, cwd, problems),
    endpoints: readEndpoints(file["endpoints"], dirname(path), path, problems),
    publicUrl: readUrl(given("public-url", "SLUICE_PUBLIC_URL") ?? file["publicUrl"], problems),
    apiKey: env["SLUICE_API_KEY"] === "" ? undefined : env["SLUICE_API_KEY"],
    secret: env["SLUICE_SECRET"] === "" ? undefined : env["SLUICE_SECRET"],
    drainMs: wholeNumber(given("drain-timeout", "SLUICE_DRAIN_TIMEOUT") ?? "30", "--drain-timeout", [0, 86_400], problems) * 1000,
  };
  if (config.apiKey !== undefined && (config.apiKey.length < KEY_SHORTEST || /\s/.test(config.apiKey))) {
    problems.push(`SLUICE_API_KEY must have at least ${KEY_SHORTEST} characters and no white space.`);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config };
}

function readYaml(text: string, path: string, problems: string[]): Record<string, unknown> {
  try {
    const value: unknown = parse(text);
    if (value === null || value === undefined) return {};
    if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
    problems.push(`${path}: must be a mapping with 'endpoints'.`);
  } catch (error) {
    problems.push(`${path}: is not valid YAML: ${(error as Error).message.split("\n")[0]}`);
  }
  return {};
}

function readEndpoints(raw: unknown, base: string, path: string, problems: string[]): Endpoint[] {
  if (raw === undefined || raw === null) return [];
  if (typeof raw !== "object" || Array.isArray(raw)) {
    problems.push(`${path}: endpoints must be a mapping of endpoint ids to settings.`);
    return [];
  }
  const endpoints: Endpoint[] = [];
  for (const [id, settings] of Object.entries(raw)) {
    const read = readEndpoint(id, settings ?? {});
    if (!read.ok) {
      for (const { field, message } of read.faults) problems.push(`${path}: endpoints.${id}${field === "" ? "" : `.${field}`} ${message}.`);
      continue;
    }
    const { launcher } = read.endpoint;
    // Relative to the file, and kept absolute: the store outlives this working directory.
    if (launcher.type === "process") launcher.cwd = resolve(base, launcher.cwd ?? ".");
    endpoints.push(read.endpoint);
  }
  return endpoints;
}

function readStore(value: string, cwd: string, problems: string[]): string {
  if (value.startsWith("sqlite:") && value.length > "sqlite:".length) return resolve(cwd, value.slice("sqlite:".length));
  if (/^postgres(ql)?:/.test(value)) problems.push("--store: PostgreSQL is not available yet; use sqlite:<path>.");
  else problems.push(`--store must be sqlite:<path>, such as ${STORE_DEFAULT}.`);
  return "";
}

function readUrl(value: unknown, problems: string[]): string | undefined {
  if (value === undefined || value === null) return undefined;
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && url.search === "" && url.hash === "") return (value as string).replace(/\/+$/, "");
  problems.push("publicUrl must be an http or https address without query, such as http://192.168.1.10:8080.");
  return undefined;
}

function wholeNumber(value: string, name: string, [low, high]: readonly [number, number], problems: string[]): number {
  if (/^\d{1,9}$/.test(value) && Number(value) >= low && Number(value) <= high) return Number(value);
  problems.push(`${name} must be a whole number from ${low} to ${high}, not '${value}'.`);
  return low;
}
