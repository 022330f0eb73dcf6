/** A login to a registry of container images (D45), as launchers get it and bodies have it. */
import { plainText, type Schema } from "../../lib/schema.ts";

export interface RegistryLogin {
	username: string;
	password: string;
}

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
