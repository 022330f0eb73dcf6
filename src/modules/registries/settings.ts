/** `registries` of `sluice.yaml` (D45): logins by host, whose passwords are in variables or files. */
import { dirname, resolve } from "node:path";
import { REGISTRY_LOGIN_SCHEMA, type RegistryLogin } from "../../kernel/core/access/image-registry.ts";
import type { SettingsSource } from "../../kernel/config/module-settings.ts";
import type { Schema } from "../../kernel/lib/schema.ts";
import { readRegistryLogin } from "./login.ts";

/** Logins by registry. */
export type RegistrySettings = ReadonlyMap<string, RegistryLogin>;

const SETTINGS = {
	type: "object",
	additionalProperties: false,
	required: ["username"],
	properties: {
		username: REGISTRY_LOGIN_SCHEMA.properties.username,
		passwordEnv: {
			type: "string",
			pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
			description: "Variable of the service with the password. Workers do not get it.",
			examples: ["REGISTRY_PASSWORD"],
			"x-message": "must be the name of an environment variable.",
		},
		passwordFile: {
			type: "string",
			minLength: 1,
			description: "File with the password; a relative path starts at the folder of this file.",
			"x-message": "must be the path of a file.",
		},
	},
	"x-message": "must be an object with username and passwordEnv or passwordFile.",
} as const satisfies Schema;

export const REGISTRIES_SCHEMA = {
	type: "object",
	additionalProperties: SETTINGS,
	description:
		"Logins to registries of container images, by host; `docker.io` is Docker Hub. They replace stored ones at each " +
		"start; others in the store stay.",
	"x-message": "must be an object of registries to their logins.",
} as const satisfies Schema;

/** What the file has of one registry, after its schema. */
interface Given {
	username: string;
	passwordEnv?: string;
	passwordFile?: string;
}

export function registrySettings(given: Readonly<Record<string, Given>>, source: SettingsSource): RegistrySettings {
	const logins = new Map<string, RegistryLogin>();
	for (const [name, one] of Object.entries(given)) {
		const where = `${source.path}: registries.${name}`;
		const password = passwordOf(one, where, source);
		if (password === undefined) continue;
		const read = readRegistryLogin(name, { username: one.username, password });
		if (read.ok) logins.set(read.registry, read.login);
		else
			for (const { field, message } of read.faults)
				source.problems.push(`${where}${field === "registry" ? "" : `.${field}`} ${message}`);
	}
	return logins;
}

/** Undefined with a problem. */
function passwordOf({ passwordEnv, passwordFile }: Given, where: string, source: SettingsSource): string | undefined {
	const { path, env, readFile, problems } = source;
	if ((passwordEnv === undefined) === (passwordFile === undefined)) {
		problems.push(`${where} must have either passwordEnv or passwordFile.`);
		return undefined;
	}
	if (passwordEnv !== undefined) {
		source.keepSecret(passwordEnv);
		if (!env[passwordEnv]) problems.push(`${where}.passwordEnv: the variable ${passwordEnv} is not set.`);
		return env[passwordEnv] || undefined;
	}
	const text = readFile(resolve(dirname(path), String(passwordFile)))?.replace(/\r?\n$/, "");
	if (!text) problems.push(`${where}.passwordFile: cannot read a password from ${String(passwordFile)}.`);
	return text || undefined;
}
