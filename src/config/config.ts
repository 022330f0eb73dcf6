/** The service configuration, from flags, environment and `sluice.yaml` (D34, D35). */
import { dirname, resolve } from "node:path";
import { budgetLimits, type BudgetLimits } from "../core/budgets.ts";
import type { Endpoint } from "../core/endpoint.ts";
import type { HostConfig } from "../core/hosts.ts";
import type { RegistryLogin } from "../core/registry-login.ts";
import { isObject } from "../core/schema.ts";
import { readEndpoint } from "../endpoint-settings.ts";
import { resolvePaths } from "../launchers/index.ts";
import { readHosts } from "./hosts.ts";
import { readRegistries } from "./registries.ts";
import { OPTIONS } from "./options.ts";
import { optionText, optionValue, parseFile, type Sources } from "./sources.ts";

export interface Config {
	host: string;
	port: number;
	store: StoreAddress;
	/** PEM files, absolute; absent: no TLS. */
	tls?: { cert: string; key: string } | undefined;
	/** Local data: worker output; with PostgreSQL also the server's identity. */
	dataDir: string;
	endpoints: Endpoint[];
	/** Logins to registries of container images, by name (D45). */
	registries: ReadonlyMap<string, RegistryLogin>;
	/** Variables with passwords of `registries`, hidden from workers. */
	secretVariables: readonly string[];
	/** Address for workers and snippets; default: the listening address. */
	publicUrl?: string | undefined;
	/** PostgreSQL: this server's address for the workers it launches. */
	advertiseUrl?: string | undefined;
	/** Admin key (D30). */
	apiKey?: string | undefined;
	/** Source of the encryption key for secrets (D22). */
	secret?: string | undefined;
	/** The one that `secret` replaces. */
	secretPrevious?: string | undefined;
	/** Time for running jobs at a stop (D34). */
	drainMs: number;
	/** SIGTERM also ends launched workers (D34). */
	stopWorkers: boolean;
	/** GPUs of this machine for launched workers. */
	gpus: number;
	/** Machines for the launcher `docker` (D44). */
	hosts: HostConfig;
	/** Lowest logged level. */
	logLevel: "debug" | "info" | "warn" | "error";
	/** `auto`: text on a terminal, else JSON. */
	logFormat: "auto" | "text" | "json";
	/** Web page origins that may call `/v2` and `/sdk/v2` (D38). */
	corsOrigins: "*" | string[];
	/** Private, loopback and link-local addresses (D21). */
	webhooksAllowPrivateNetworks: boolean;
	/** What callers may hold or use (D41). */
	budgets: BudgetLimits;
}

/** Where jobs are stored (D34). `url` may contain a password. */
export type StoreAddress = { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };

/** Values by the names of {@link OPTIONS}, in their units. */
interface Values
	extends Omit<
		Config,
		"tls" | "endpoints" | "registries" | "secretVariables" | "store" | "drainMs" | "budgets" | "hosts"
	> {
	store: string;
	hostTimeout: number;
	drainTimeout: number;
	tlsCert?: string;
	tlsKey?: string;
}

/** The configuration, or a sentence per problem. */
export function loadConfig(sources: Sources): { ok: true; config: Config } | { ok: false; problems: string[] } {
	const { cwd, readFile } = sources;
	const problems: string[] = [];
	const fileOption = optionText(sources, OPTIONS.config);
	const path = resolve(cwd, fileOption?.text ?? OPTIONS.config.schema.default);
	const text = readFile(path);
	if (text === undefined && fileOption) problems.push(`${fileOption.source}: cannot read the file ${path}.`);
	const file = text === undefined ? {} : parseFile(text, path, problems);
	const endpoints = readEndpoints(file["endpoints"], path, problems);
	const registries = readRegistries(file["registries"], { ...sources, path }, problems);

	const values = Object.fromEntries(
		Object.entries(OPTIONS).map(([name, option]) => [name, optionValue(sources, option, problems, file)]),
	) as unknown as Values;
	// A value of another type is among the problems.
	const store = storeAddress(String(values.store), cwd);
	if (store.kind === "postgres" && values.secret === undefined)
		problems.push(
			"SLUICE_SECRET must be set when the store is PostgreSQL, to the same text on all " +
				"servers: the key for stored secrets is derived from it. To generate one: openssl rand " +
				"-hex 32",
		);
	if (values.secretPrevious !== undefined && values.secret === undefined)
		problems.push("SLUICE_SECRET_PREVIOUS needs SLUICE_SECRET, which replaces it.");
	const { tlsCert: cert, tlsKey: key } = values;
	if ((cert === undefined) !== (key === undefined))
		problems.push("SLUICE_TLS_CERT and SLUICE_TLS_KEY must be set together.");
	const hosts = readHosts(
		file["hosts"],
		{ path, url: values.publicUrl ?? values.advertiseUrl, listen: values.host, gpus: values.gpus, endpoints },
		problems,
	);
	if (problems.length > 0) return { ok: false, problems };

	const { host, port, apiKey, secret, secretPrevious, gpus, logLevel, logFormat } = values;
	const { webhooksAllowPrivateNetworks, corsOrigins } = values;
	return {
		ok: true,
		config: {
			host,
			port,
			tls: cert && key ? { cert: resolve(cwd, cert), key: resolve(cwd, key) } : undefined,
			store,
			endpoints,
			...registries,
			apiKey,
			secret,
			secretPrevious,
			gpus,
			hosts: { hosts, lostAfterMs: values.hostTimeout * 1000 },
			logLevel,
			logFormat,
			webhooksAllowPrivateNetworks,
			budgets: budgetLimits(
				file["budgets"] as Partial<BudgetLimits> | undefined,
				// 0 where nothing bounds the process.
				process.constrainedMemory() || undefined,
			),
			dataDir: store.kind === "sqlite" ? dirname(store.path) : resolve(cwd, values.dataDir),
			publicUrl: withoutSlash(values.publicUrl),
			advertiseUrl: withoutSlash(values.advertiseUrl),
			drainMs: values.drainTimeout * 1000,
			stopWorkers: values.stopWorkers,
			corsOrigins: corsOrigins === "*" ? corsOrigins : corsOrigins.map(normalizedOrigin),
		},
	};
}

/** Configuration for commands that need only the store. */
export function loadStore(
	sources: Omit<Sources, "readFile">,
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

/** Returns the origin as browsers send it: lower case, without default port. */
function normalizedOrigin(origin: string): string {
	const url = new URL(origin);
	return url.origin === "null" ? origin : url.origin;
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
		// Absolute: the store outlives this working directory.
		const launcher = resolvePaths(read.endpoint.launcher, dirname(path));
		endpoints.push({ ...read.endpoint, launcher });
	}
	return endpoints;
}
