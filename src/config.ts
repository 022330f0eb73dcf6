/**
 * What the service is told: flags, environment, `sluice.yaml` (D34, D35). One table, read by one
 * pure function; all problems at once, each with its field and bound.
 */
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import type { Endpoint } from "./core/endpoint.ts";
import { check, isAbsent, isObject } from "./core/schema.ts";
import type { Schema } from "./core/schema.ts";
import { readEndpoint } from "./endpoint-settings.ts";
import { resolvePaths } from "./launchers/index.ts";

/** Everything a service is started with. */
export interface Config {
	host: string;
	port: number;
	store: StoreAddress;
	/**
	 * Folder of what this server keeps for itself: output of workers, and with PostgreSQL its
	 * identity. Beside the file with SQLite.
	 */
	dataDir: string;
	endpoints: Endpoint[];
	/** Address that workers and snippets use; by default the one it listens on. */
	publicUrl?: string | undefined;
	/**
	 * Address of this very server for the workers that it launches, where several share a store; by
	 * default the one it listens on.
	 */
	advertiseUrl?: string | undefined;
	/** Admin key of the environment (D30). */
	apiKey?: string | undefined;
	/** Text from which the key for secrets is made (D22). */
	secret?: string | undefined;
	/** How long running jobs get at a stop, ms (D34). */
	drainMs: number;
	/** GPUs of this machine that launched workers share. */
	gpus: number;
	/** Origins of browser pages that may call `/v2` and `/sdk/v2`: all, or these (D38). */
	corsOrigins: "*" | string[];
	/** Webhooks may go to private, loopback and link-local addresses (D21). */
	webhooksAllowPrivateNetworks: boolean;
}

/** Where jobs are kept (D34). A `url` may hold a password. */
export type StoreAddress = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

/** Variables that no worker may see: those that hold secrets of the service, or may. */
export const OWN_VARIABLES: readonly string[] = [
	"SLUICE_API_KEY",
	"SLUICE_SECRET",
	"SLUICE_STORE",
	"PGPASSWORD",
];

/** Where a configuration comes from. `flags` are those of the command line by name. */
export interface Sources {
	flags: Readonly<Record<string, string | undefined>>;
	env: Readonly<Record<string, string | undefined>>;
	cwd: string;
	/** Reads a text file; undefined when it is not there. */
	readFile: (path: string) => string | undefined;
}

/**
 * An option of the service. A flag wins over the environment, the environment over the file; an
 * empty variable is one that is not set.
 */
export interface Option {
	/** Flag of `sluice serve`, without its dashes. */
	readonly flag?: string;
	/** Name in the environment. */
	readonly env: string;
	/** Place in `sluice.yaml`. */
	readonly file?: string;
	/** Type, bounds, default and description. `writeOnly`: a secret. */
	readonly schema: Schema;
}

/** All options (D34, D35, D30, D22, D21, D38); the endpoints of `sluice.yaml` come beside them. */
export const OPTIONS = {
	config: {
		flag: "config",
		env: "SLUICE_CONFIG",
		schema: {
			type: "string",
			minLength: 1,
			default: "sluice.yaml",
			description:
				"File with settings and endpoints. One that is named must be there; the default one need not.",
		},
	},
	host: {
		flag: "host",
		env: "SLUICE_HOST",
		schema: {
			type: "string",
			minLength: 1,
			default: "127.0.0.1",
			description: "Address to listen on.",
		},
	},
	port: {
		flag: "port",
		env: "SLUICE_PORT",
		schema: {
			type: "integer",
			minimum: 0,
			maximum: 65_535,
			default: 8080,
			description: "Port to listen on; 0 for a free one.",
		},
	},
	store: {
		flag: "store",
		env: "SLUICE_STORE",
		schema: {
			type: "string",
			pattern:
				"^(?:sqlite:.|postgres(?:ql)?://(?:[^\\s/?#%]|%[0-9a-fA-F]{2})*/(?:[^\\s/?#%]|%[0-9a-fA-F]{2})+(?:\\?[^\\s#]*)?$)",
			default: "sqlite:./data/sluice.db",
			description:
				"Where jobs are kept: a file of this server's own, or a PostgreSQL that several servers may share (postgres://user:password@host:5432/database; better in the environment, since others see what stands in a command).",
			"x-message":
				"must be sqlite:<path>, such as sqlite:./data/sluice.db, or postgres://user:password@host:5432/database with every special character of user and password as %XX.",
		},
	},
	dataDir: {
		flag: "data-dir",
		env: "SLUICE_DATA_DIR",
		schema: {
			type: "string",
			minLength: 1,
			default: "./data",
			description:
				"Folder of what a server with PostgreSQL keeps for itself: its identity and the output of its workers. Each server needs its own. With SQLite it is the folder of the file.",
		},
	},
	publicUrl: {
		flag: "public-url",
		env: "SLUICE_PUBLIC_URL",
		file: "publicUrl",
		schema: {
			type: "string",
			format: "uri",
			pattern: "^[^\\s?#]+$",
			description:
				"Address under which workers and clients reach this service. By default the one it listens on.",
			examples: ["http://192.168.1.10:8080"],
			"x-message":
				"must be an http or https address without query, such as http://192.168.1.10:8080.",
		},
	},
	advertiseUrl: {
		flag: "advertise-url",
		env: "SLUICE_ADVERTISE_URL",
		schema: {
			type: "string",
			format: "uri",
			pattern: "^[^\\s?#]+$",
			description:
				"Address of this very server for the workers that it launches, where several share a PostgreSQL; publicUrl is then that of all of them. By default the one it listens on.",
			"x-message": "must be an http or https address without query, such as http://10.0.0.5:8080.",
		},
	},
	drainTimeout: {
		flag: "drain-timeout",
		env: "SLUICE_DRAIN_TIMEOUT",
		schema: {
			type: "integer",
			minimum: 0,
			maximum: 86_400,
			"x-unit": "seconds",
			default: 30,
			description: "Time for running jobs at a stop.",
		},
	},
	gpus: {
		env: "SLUICE_GPUS",
		file: "gpus",
		schema: {
			type: "integer",
			minimum: 0,
			maximum: 64,
			default: 0,
			description:
				"GPUs of this machine, numbered from 0, that launched workers share: each gets gpusPerWorker of them for itself and sees no others.",
		},
	},
	corsOrigins: {
		env: "SLUICE_CORS_ORIGINS",
		file: "cors.origins",
		schema: {
			oneOf: [{ const: "*" }, { type: "array", items: { type: "string", format: "origin" } }],
			default: "*",
			description:
				"Origins of the browser pages that may call /v2 and /sdk/v2: * for all, or a list; in the environment with commas between.",
			examples: [["https://app.example.com", "http://localhost:3000"]],
			"x-message": "must be * or a list of origins such as https://app.example.com.",
		},
	},
	webhooksAllowPrivateNetworks: {
		env: "SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS",
		file: "webhooks.allowPrivateNetworks",
		schema: {
			type: "boolean",
			default: false,
			description:
				"Whether webhooks may go to private, loopback, link-local and metadata addresses. With it a client can make the service call what only the service can reach.",
		},
	},
	apiKey: {
		env: "SLUICE_API_KEY",
		schema: {
			type: "string",
			minLength: 8,
			pattern: "^\\S*$",
			writeOnly: true,
			description:
				"An admin key that is good while it is set. Without any key the first start makes one.",
			"x-message": "must have at least 8 characters and no white space.",
		},
	},
	secret: {
		env: "SLUICE_SECRET",
		schema: {
			type: "string",
			writeOnly: true,
			description:
				"Text from which the key for secrets at rest is made. With SQLite a file beside the database is made when it is not set; with PostgreSQL it is required, the same for all servers.",
		},
	},
} as const satisfies Record<string, Option>;

/** The file as a whole; `endpoints` is read by `endpoint-settings.ts`. */
const FILE_SCHEMA: Schema = section({
	endpoints: {
		type: "object",
		description: "Settings by the id of the endpoint.",
		"x-message": "must be an object of endpoint ids to settings.",
	},
	publicUrl: OPTIONS.publicUrl.schema,
	gpus: OPTIONS.gpus.schema,
	cors: section({ origins: OPTIONS.corsOrigins.schema }),
	webhooks: section({ allowPrivateNetworks: OPTIONS.webhooksAllowPrivateNetworks.schema }),
});

function section(properties: Record<string, Schema>): Schema {
	return {
		type: "object",
		additionalProperties: false,
		properties,
		"x-message": `must be an object with ${Object.keys(properties).join(", ")}.`,
	};
}

/** The configuration, or every problem found, a sentence each. */
export function loadConfig(
	sources: Sources,
): { ok: true; config: Config } | { ok: false; problems: string[] } {
	const { cwd, readFile } = sources;
	const problems: string[] = [];
	const named = told(sources, OPTIONS.config);
	const path = resolve(cwd, named?.text ?? OPTIONS.config.schema.default);
	const text = readFile(path);
	if (text === undefined && named)
		problems.push(`${named.by}: there is no readable file at ${path}.`);
	const file = text === undefined ? {} : readYaml(text, path, problems);
	for (const { field, message } of check(FILE_SCHEMA, file))
		problems.push(`${path}: ${field} ${message}`);
	const endpoints = readEndpoints(file["endpoints"], path, problems);

	const values = Object.fromEntries(
		Object.entries(OPTIONS).map(([name, option]) => [
			name,
			valueOf(sources, option, problems, file),
		]),
	) as unknown as Values;
	const store = storeAt(values.store, cwd);
	if (store.kind === "postgres" && values.secret === undefined)
		problems.push(
			"SLUICE_SECRET must be set where the store is PostgreSQL, to the same text on all servers: the key for secrets in the database is made of it, such as of the output of: openssl rand -hex 32",
		);
	if (problems.length > 0) return { ok: false, problems };

	const { host, port, apiKey, secret, gpus, webhooksAllowPrivateNetworks, corsOrigins } = values;
	const base = (url: string | undefined): string | undefined => url?.replace(/\/+$/, "");
	return {
		ok: true,
		config: {
			host,
			port,
			store,
			endpoints,
			apiKey,
			secret,
			gpus,
			webhooksAllowPrivateNetworks,
			dataDir: store.kind === "sqlite" ? dirname(store.path) : resolve(cwd, values.dataDir),
			publicUrl: base(values.publicUrl),
			advertiseUrl: base(values.advertiseUrl),
			drainMs: values.drainTimeout * 1000,
			corsOrigins: corsOrigins === "*" ? corsOrigins : corsOrigins.map(asSent),
		},
	};
}

/** Only the store, for commands that need no more; all problems of it otherwise. */
export function loadStore(
	sources: Omit<Sources, "readFile">,
): { ok: true; store: StoreAddress } | { ok: false; problems: string[] } {
	const problems: string[] = [];
	const value = valueOf(sources, OPTIONS.store, problems);
	return problems.length > 0
		? { ok: false, problems }
		: { ok: true, store: storeAt(String(value), sources.cwd) };
}

function storeAt(value: string, cwd: string): StoreAddress {
	return value.startsWith("postgres")
		? { kind: "postgres", url: value }
		: { kind: "sqlite", path: resolve(cwd, value.slice("sqlite:".length)) };
}

/** The text that a flag or the environment gives, and by which of them. */
function told(
	{ flags, env }: Pick<Sources, "flags" | "env">,
	{ flag, env: name }: Option,
): { by: string; text: string } | undefined {
	const [onLine, around] = [flag === undefined ? undefined : flags[flag], env[name]];
	if (onLine !== undefined) return { by: `--${flag}`, text: onLine };
	return around === undefined || around === "" ? undefined : { by: name, text: around };
}

/**
 * The value as it was told, or the default; what the schema says of its type is true once there are
 * no problems.
 */
function valueOf(
	sources: Pick<Sources, "flags" | "env">,
	option: Option,
	problems: string[],
	file: Record<string, unknown> = {},
): unknown {
	const given = told(sources, option);
	if (!given)
		return (option.file === undefined ? undefined : at(file, option.file)) ?? option.schema.default;
	const read = fromText(option.schema, given.text);
	const heard =
		option.schema.type === "integer" || option.schema.type === "boolean"
			? `, not '${given.text}'.`
			: ".";
	const faults = check(option.schema, read, given.by);
	// An address that is none has a fault of its own kind: its parts, not its form.
	if (
		option === OPTIONS.store &&
		faults.length === 0 &&
		given.text.startsWith("postgres") &&
		!URL.canParse(given.text)
	)
		faults.push({ field: given.by, message: option.schema["x-message"] ?? "" });
	for (const { field, message } of faults)
		problems.push(`${field} ${message.slice(0, -1)}${heard}`);
	return read;
}

/** The values of {@link OPTIONS}, in their own units. */
interface Values extends Omit<Config, "endpoints" | "store" | "drainMs"> {
	store: string;
	drainTimeout: number;
}

/**
 * A text that stands for another type becomes that; one that does not stays text, so that the check
 * refuses it.
 */
function fromText({ type, oneOf }: Schema, text: string): unknown {
	if (type === "integer" && /^\d{1,15}$/.test(text)) return Number(text);
	if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
	if (oneOf && !oneOf.some((branch) => branch.const === text))
		return text
			.split(",")
			.map((item) => item.trim())
			.filter((item) => item !== "");
	return text;
}

/** What stands at a place such as `cors.origins`; `null` is nothing. */
function at(file: Record<string, unknown>, place: string): unknown {
	return place
		.split(".")
		.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), file);
}

/** An origin as browsers send it: lower case, without the usual port. */
function asSent(origin: string): string {
	const url = new URL(origin);
	return url.origin === "null" ? origin : url.origin;
}

function readYaml(text: string, path: string, problems: string[]): Record<string, unknown> {
	try {
		const value: unknown = parse(text);
		if (isAbsent(value)) return {};
		if (isObject(value)) return value;
		problems.push(`${path}: must be a mapping with 'endpoints'.`);
	} catch (error) {
		problems.push(`${path}: is not valid YAML: ${(error as Error).message.split("\n")[0]}`);
	}
	return {};
}

function readEndpoints(raw: unknown, path: string, problems: string[]): Endpoint[] {
	const endpoints: Endpoint[] = [];
	for (const [id, settings] of isObject(raw) ? Object.entries(raw) : []) {
		const read = readEndpoint(id, settings ?? {});
		if (!read.ok) {
			for (const { field, message } of read.faults)
				problems.push(`${path}: endpoints.${id}${field === "" ? "" : `.${field}`} ${message}`);
			continue;
		}
		// Absolute, since the store outlives this working directory.
		const launcher = resolvePaths(read.endpoint.launcher, dirname(path));
		endpoints.push({ ...read.endpoint, launcher });
	}
	return endpoints;
}
