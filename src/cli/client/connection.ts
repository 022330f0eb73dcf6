/** The service and key of a command (D36). */
import { OPTIONS } from "../../kernel/config/options.ts";
import { nearest } from "../../kernel/lib/nearest.ts";
import { contextOf } from "./context-file.ts";

const DEFAULT_URL = "http://127.0.0.1:8080";

export const SERVICE_FLAGS = {
	url: { value: "URL", summary: `address of the service (default: ${DEFAULT_URL})` },
	key: {
		value: "KEY",
		summary: "API key; other users of the machine may see it: prefer a context or SLUICE_API_KEY",
	},
	context: { value: "NAME", summary: "stored address and key, see: sluice context" },
} as const;

export const SERVICE_ENV = {
	SLUICE_URL: "address of the service",
	SLUICE_API_KEY: "API key",
	SLUICE_CONTEXT: "name of a context, as --context",
	SLUICE_CA: "PEM file with further certificates to accept",
} as const;

/** Sentences about variables that are misspelt names of settings. */
export function misspeltVariables(env: Values): string[] {
	const known = [...Object.values(OPTIONS).map(({ env: name }) => name), ...Object.keys(SERVICE_ENV)];
	return Object.keys(env).flatMap((name) => {
		if (!name.startsWith(PREFIX) || known.includes(name)) return [];
		const meant = nearest(
			name.slice(PREFIX.length),
			known.map((each) => each.slice(PREFIX.length)),
		);
		return meant === undefined ? [] : [`${name} is no variable of Sluice. Did you mean ${PREFIX}${meant}?`];
	});
}

const PREFIX = "SLUICE_";

export interface Connection {
	base: string;
	key: string | undefined;
	keyFrom: string;
}

type Values = Readonly<Record<string, string | undefined>>;

/**
 * Returns the connection: a named context, else the variables, else the current context; never the address of one with
 * the key of another. Throws {@link CliError}.
 */
export function connectionOf({ url, key, context }: Values, env: Values): Connection {
	const { SLUICE_URL: envUrl, SLUICE_API_KEY: envKey, SLUICE_CONTEXT: envContext } = env;
	const named = context ?? (envContext || undefined);
	const usesEnv = named === undefined && Boolean(envUrl || envKey);
	const stored = usesEnv ? undefined : contextOf(named, env);
	const found = usesEnv ? envUrl : stored?.url;
	const base = (url ?? (found || DEFAULT_URL)).replace(/(?<!\/)\/+$/, "");
	if (key !== undefined) return { base, key, keyFrom: "--key" };
	if (stored && url === undefined) return { base, key: stored.key, keyFrom: `context '${stored.name}'` };
	return { base, key: (usesEnv && envKey) || undefined, keyFrom: "SLUICE_API_KEY" };
}
