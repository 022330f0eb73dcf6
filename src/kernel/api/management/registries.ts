/** Registry logins of the management API, without a host (D49). */
import { REGISTRY_LOGIN_SCHEMA } from "../../core/access/registry-login.ts";
import { plainText, type Schema } from "../../lib/schema.ts";
import { managed, NOT_FOUND, removal } from "./operation.ts";
import { listIn, object, TEXT } from "../definition/schema.ts";

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

const ONE = { description: "The registry.", schema: LOGIN };

export const LIST_LOGINS = managed("listLogins", "GET /v2/registries", {
	summary: "Registry logins, without user and password.",
	answer: {
		description: "The registries, newest first.",
		schema: listIn("registries", LOGIN),
	},
});

export const CREATE_LOGIN = managed("createLogin", "POST /v2/registries", {
	summary:
		"Stores a login for images of endpoints that name it in registry. It is sent to the registry of the image, " +
		"whatever its host.",
	status: 201,
	answer: ONE,
	body: {
		description: "Name, user and password.",
		schema: CREATED,
	},
});

export const GET_LOGIN = managed("getLogin", "GET /v2/registries/:login", {
	summary: "One registry login.",
	answer: ONE,
	errors: NOT_FOUND,
});

export const REMOVE_LOGIN = removal("removeLogin", "/v2/registries/:login", {
	summary: "Deletes a registry login that no endpoint uses.",
	errors: ["resource_not_found", "bad_request"],
});

export const LOGIN_ROUTES = [LIST_LOGINS, CREATE_LOGIN, GET_LOGIN, REMOVE_LOGIN] as const;
