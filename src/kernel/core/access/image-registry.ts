import { plainText, type Schema } from "../../lib/schema.ts";

const DOCKER_HUB = "docker.io";

const HUB_NAMES: readonly string[] = ["index.docker.io", "registry-1.docker.io", "hub.docker.com"];

interface ImageName {
	registry: string;
	repository: string;
	/** The digest, else the tag. */
	version: string;
}

export function imageName(text: string): ImageName {
	const [named = "", digest] = text.split("@");
	const colon = named.lastIndexOf(":");
	const isTagged = colon > named.lastIndexOf("/");
	const repository = isTagged ? named.slice(0, colon) : named;
	const [first = "", ...rest] = repository.split("/");
	const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
	return {
		registry: isHost ? registryName(first) : DOCKER_HUB,
		repository,
		version: digest ?? (isTagged ? named.slice(colon + 1) : "latest"),
	};
}

/** Returns host and port of a registry from any of the names that users and Docker's files give it. */
export function registryName(text: string): string {
	const host = text
		.trim()
		.replace(/^https?:\/\//i, "")
		.replace(/\/.*/s, "")
		.toLowerCase();
	return HUB_NAMES.includes(host) ? DOCKER_HUB : host;
}

/** A login to a registry of container images (D45), as launchers get it and bodies have it. */
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
