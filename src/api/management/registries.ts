/** Registry logins of the management API, without a host (D49). */
import { REGISTRY_LOGIN_SCHEMA } from "../../core/access/registry-login.ts";
import { plainText, type Schema } from "../../lib/schema.ts";
import { MB, route } from "../definition/route.ts";
import { listIn, object, TEXT } from "../definition/schema.ts";

const LOGIN = object({ id: TEXT, name: TEXT });
const EXAMPLE = { id: "3f9c2a17be", name: "ci" };

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

const ONE = { description: "The registry.", schema: LOGIN, example: EXAMPLE };
const PROBLEMS = { errorForm: "problem", errors: ["resource_not_found"] } as const;

export const LIST_LOGINS = route("listLogins", "GET /v2/registries", "admin", {
	summary: "Registry logins, without user and password.",
	answer: {
		description: "The registries, newest first.",
		schema: listIn("registries", LOGIN),
		example: { registries: [EXAMPLE] },
	},
	errorForm: "problem",
});

export const CREATE_LOGIN = route("createLogin", "POST /v2/registries", "admin", {
	summary:
		"Stores a login for images of endpoints that name it in registry. It is sent to the registry of the image, " +
		"whatever its host.",
	status: 201,
	answer: ONE,
	body: {
		description: "Name, user and password.",
		schema: CREATED,
		example: { name: "ci", username: "ci", password: "…" },
		checked: true,
	},
	maxBody: MB,
	errorForm: "problem",
});

export const GET_LOGIN = route("getLogin", "GET /v2/registries/:login", "admin", {
	summary: "One registry login.",
	answer: ONE,
	...PROBLEMS,
});

export const REMOVE_LOGIN = route("removeLogin", "DELETE /v2/registries/:login", "admin", {
	summary: "Deletes a registry login that no endpoint uses.",
	status: 204,
	answer: { description: "It is deleted." },
	...PROBLEMS,
	errors: ["resource_not_found", "bad_request"],
});

export const LOGIN_ROUTES = [LIST_LOGINS, CREATE_LOGIN, GET_LOGIN, REMOVE_LOGIN] as const;
