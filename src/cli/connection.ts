/** Which service a command calls, and with which key (D36). */
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

export interface Connection {
	/** Base without trailing slash. */
	base: string;
	key: string | undefined;
	/** Where to correct a key that is refused. */
	keyFrom: string;
}

type Values = Readonly<Record<string, string | undefined>>;

/**
 * A named context, else the two variables, else the current context: never the address of one with
 * the key of another. Flags override. Throws {@link CliError}.
 */
export function connectionOf({ url, key, context }: Values, env: Values): Connection {
	const named = context ?? (env["SLUICE_CONTEXT"] || undefined);
	const envUrl = env["SLUICE_URL"] || undefined;
	const envKey = env["SLUICE_API_KEY"] || undefined;
	const usesEnv = named === undefined && (envUrl !== undefined || envKey !== undefined);
	const stored = usesEnv ? undefined : contextOf(named, env);
	const found = stored ? stored.url : usesEnv ? envUrl : undefined;
	const base = (url ?? found ?? DEFAULT_URL).replace(/(?<!\/)\/+$/, "");
	if (key !== undefined) return { base, key, keyFrom: "--key" };
	if (stored && url === undefined) return { base, key: stored.key, keyFrom: `context '${stored.name}'` };
	return { base, key: usesEnv ? envKey : undefined, keyFrom: "SLUICE_API_KEY" };
}
