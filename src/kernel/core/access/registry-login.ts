/** Logins to registries of container images (D45). */
import { registryName } from "./image-name.ts";
import { check, plainText, type Read, type Schema } from "../../lib/schema.ts";

export interface RegistryLogin {
	username: string;
	password: string;
}

/** Matches what `registryName` returns. */
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?$/;

const REGISTRY_NAME_MESSAGE =
	"must be the host of a registry, perhaps with its port, such as ghcr.io or registry.example.com:5000.";

const USERNAME = {
	...plainText(1, 256),
	description: "User, or what the registry wants in its place for a token.",
	examples: ["ci"],
} as const satisfies Schema;

const PASSWORD = {
	type: "string",
	minLength: 1,
	maxLength: 16_384,
	writeOnly: true,
	description: "Password or token. Stored encrypted, and never shown.",
	"x-message": "must be text of 1 to 16384 characters.",
} as const satisfies Schema;

export const REGISTRY_LOGIN_SCHEMA = {
	type: "object",
	additionalProperties: false,
	required: ["username", "password"],
	properties: { username: USERNAME, password: PASSWORD },
	"x-message": "must be an object with username and password.",
} as const satisfies Schema;

export const REGISTRY_SETTINGS_SCHEMA = {
	type: "object",
	additionalProperties: false,
	required: ["username"],
	properties: {
		username: USERNAME,
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

export function readRegistryName(text: string): string | undefined {
	const name = registryName(text);
	return NAME.test(name) ? name : undefined;
}

export function readRegistryLogin(name: string, body: unknown): Read<{ registry: string; login: RegistryLogin }> {
	const registry = readRegistryName(name);
	const faults = check(REGISTRY_LOGIN_SCHEMA, body);
	if (registry === undefined) faults.unshift({ field: "registry", message: REGISTRY_NAME_MESSAGE });
	return registry === undefined || faults.length > 0
		? { ok: false, faults }
		: { ok: true, registry, login: body as RegistryLogin };
}
