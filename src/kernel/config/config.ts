/** The service configuration, from flags, environment and `sluice.yaml` (D34, D35). */
import { check } from "../lib/schema.ts";
import { dirname, resolve } from "node:path";
import { budgetLimits, type BudgetLimits } from "../core/budgets.ts";
import type { Endpoint } from "../core/endpoints/endpoint.ts";
import { readModules, unknownArea } from "./module-settings.ts";
import { readEndpoints } from "./endpoints.ts";
import { serviceFaults } from "../launchers/endpoint-settings.ts";
import { readLauncherMembers, optionText, optionValue, parseFile, type Sources } from "./sources.ts";
import { OPTIONS } from "./options.ts";
import { variables as variablesOf } from "./variables.ts";

export interface Config {
	host: string;
	port: number;
	store: StoreAddress;
	/** Absolute paths of PEM files. Undefined: no TLS. */
	tls?: { cert: string; key: string } | undefined;
	/** Worker output, and with PostgreSQL the server's identity. */
	dataDir: string;
	endpoints: Endpoint[];
	/** Settings of modules, by their names. */
	modules: Readonly<Record<string, unknown>>;
	/** Variables that workers do not get. */
	secretVariables: readonly string[];
	/** Address for workers and snippets. Default: the listening address. */
	publicUrl?: string | undefined;
	/** This server's address for the workers it launches, with PostgreSQL. */
	advertiseUrl?: string | undefined;
	/** Admin key (D30). */
	apiKey?: string | undefined;
	/** Source of the key for stored secrets (D22). */
	secret?: string | undefined;
	/** The earlier secret, which `secret` replaces. */
	secretPrevious?: string | undefined;
	/** Time that running jobs get at a stop (D34). */
	drainMs: number;
	/** SIGTERM also ends launched workers (D34). */
	stopWorkers: boolean;
	/** Number of GPUs of this machine. */
	gpus: number;
	/** Settings that launchers have read from their members of the file, by type. */
	launchers: Readonly<Record<string, unknown>>;
	/** A level, then those of areas: `info,webhook=debug`. */
	logLevel: string;
	accessLog: "off" | "on" | "all";
	/** `auto`: text on a terminal, else JSON. */
	logFormat: "auto" | "text" | "json";
	/** Address of a trace, with `{traceId}`. */
	consoleTraceUrl?: string | undefined;
	/** Origins of web pages that may call `/v2` and `/sdk/v2` (D38). */
	corsOrigins: "*" | string[];
	/** Private, loopback and link-local addresses (D21). */
	webhooksAllowPrivateNetworks: boolean;
	/** Limits of what callers may hold or use (D41). */
	budgets: BudgetLimits;
}

/** `url` may contain a password (D34). */
export type StoreAddress = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

/** Values of {@link OPTIONS}, in their units. */
type Values = Omit<
	Config,
	"tls" | "endpoints" | "modules" | "secretVariables" | "store" | "drainMs" | "budgets" | "launchers"
> & { config: string; store: string; hostTimeout: number; drainTimeout: number; tlsCert?: string; tlsKey?: string };

export function loadConfig(sources: Sources): { ok: true; config: Config } | { ok: false; problems: string[] } {
	const { cwd, readFile } = sources;
	const problems: string[] = [];
	const fileOption = optionText(sources, OPTIONS.config);
	const path = resolve(cwd, fileOption?.text ?? OPTIONS.config.schema.default);
	const text = readFile(path);
	if (text === undefined && fileOption) problems.push(`${fileOption.source}: cannot read the file ${path}.`);
	const file = text === undefined ? {} : parseFile(text, path, sources, problems);
	const variables = variablesOf(sources, problems);
	const endpoints = readEndpoints(file["endpoints"], { path, variables }, problems).map(({ endpoint }) => endpoint);
	const modules = readModules(sources.modules, file, { ...sources, path, variables }, problems);

	const read = Object.entries(OPTIONS).map(([name, option]) => [name, optionValue(sources, option, problems, file)]);
	const {
		config: _path,
		tlsCert: cert,
		tlsKey: key,
		hostTimeout,
		drainTimeout,
		...values
	} = Object.fromEntries(read) as Values;
	const store = storeAddress(String(values.store), cwd);
	if (store.kind === "postgres" && values.secret === undefined)
		problems.push(
			"SLUICE_SECRET must be set when the store is PostgreSQL, to the same text on all " +
				"servers: the key for stored secrets is derived from it. To generate one: openssl rand " +
				"-hex 32",
		);
	if (values.secretPrevious !== undefined && values.secret === undefined)
		problems.push("SLUICE_SECRET_PREVIOUS needs SLUICE_SECRET, which replaces it.");
	if ((cert === undefined) !== (key === undefined))
		problems.push("SLUICE_TLS_CERT and SLUICE_TLS_KEY must be set together.");
	const launchers = readLauncherMembers(
		file,
		{
			path,
			url: values.publicUrl ?? values.advertiseUrl,
			listen: values.host,
			gpus: values.gpus,
			hostTimeoutMs: hostTimeout * 1000,
			endpoints,
		},
		problems,
	);
	for (const endpoint of endpoints)
		for (const { field, message } of serviceFaults(endpoint, values.publicUrl))
			problems.push(`${path}: endpoints.${endpoint.id}.${field} ${message}`);
	if (check(OPTIONS.logLevel.schema, values.logLevel).length === 0) {
		const noArea = unknownArea(values.logLevel, sources.modules);
		const from = optionText(sources, OPTIONS.logLevel)?.source ?? `${path}: log.level`;
		if (noArea !== undefined) problems.push(`${from} ${noArea}`);
	}
	if (problems.length > 0) return { ok: false, problems };

	const { publicUrl, advertiseUrl, corsOrigins } = values;
	// Undefined (0) if nothing bounds the memory of the process.
	const memory = process.constrainedMemory() || undefined;
	return {
		ok: true,
		config: {
			...values,
			secretVariables: variables.used,
			tls: cert && key ? { cert: resolve(cwd, cert), key: resolve(cwd, key) } : undefined,
			store,
			endpoints,
			modules,
			launchers,
			budgets: budgetLimits(file["budgets"] as Partial<BudgetLimits> | undefined, memory),
			dataDir: store.kind === "sqlite" ? dirname(store.path) : resolve(cwd, values.dataDir),
			publicUrl: withoutSlash(publicUrl),
			advertiseUrl: withoutSlash(advertiseUrl),
			drainMs: drainTimeout * 1000,
			corsOrigins: corsOrigins === "*" ? corsOrigins : corsOrigins.map(normalizedOrigin),
		},
	};
}

/** Loads the options of commands that need only a store. */
export function loadStore(
	sources: Omit<Sources, "readFile" | "modules">,
): { ok: true; store: StoreAddress } | { ok: false; problems: string[] } {
	const problems: string[] = [];
	const value = optionValue(sources, OPTIONS.store, problems);
	return problems.length > 0 ? { ok: false, problems } : { ok: true, store: storeAddress(String(value), sources.cwd) };
}

function storeAddress(value: string, cwd: string): StoreAddress {
	return value.startsWith("postgres")
		? { kind: "postgres", url: value }
		: { kind: "sqlite", path: resolve(cwd, value.slice("sqlite:".length)) };
}

function withoutSlash(url: string | undefined): string | undefined {
	return url?.replace(/(?<!\/)\/+$/, "");
}

/** Browsers send lower case without default port. */
function normalizedOrigin(origin: string): string {
	const url = new URL(origin);
	return url.origin === "null" ? origin : url.origin;
}
