/** Registry logins of the management API, without a host (D49). */
import { REGISTRY_LOGIN_SCHEMA } from "../../../kernel/core/access/image-registry.ts";
import { plainText, type Schema } from "../../../kernel/lib/schema.ts";
import { resource } from "./resource.ts";
import { listIn, object, TEXT } from "../../../kernel/api/definition/schema.ts";

const LOGIN = object({ id: TEXT, name: TEXT });
const CREATED = {
	type: "object",
	additionalProperties: false,
	required: ["name", "username", "password"],
	properties: {
		name: { ...plainText(1, 191), description: "Its name; no other registry has it." },
		...REGISTRY_LOGIN_SCHEMA.properties,
	},
	"x-message": "must be an object with name, username and password.",
} as const satisfies Schema;

export const LOGINS = resource({
	names: ["Login", "Logins"],
	path: "/v2/registries",
	id: "login",
	answer: { description: "The registry.", schema: LOGIN },
	all: { description: "The registries, newest first.", schema: listIn("registries", LOGIN) },
	summaries: ["Registry logins, without user and password.", "One registry login."],
	create: {
		summary:
			"Stores a login for images of endpoints that name it in registry. It is sent to the registry of the image, " +
			"whatever its host.",
		description: "Name, user and password.",
		schema: CREATED,
	},
	remove: {
		summary: "Deletes a registry login that no endpoint uses.",
		errors: ["resource_not_found", "bad_request"],
	},
});

export const LOGIN_ROUTES = [LOGINS.list, LOGINS.create, LOGINS.get, LOGINS.remove] as const;
