/** API keys (D30, D39). */
import { ENDPOINT_ID } from "../core/endpoints/endpoint-schema.ts";
import { KEY_REQUEST_SCHEMA, KEY_ROTATION_SCHEMA, SCOPES } from "../core/access/key-request.ts";
import { NO_BODY, route } from "./definition/route.ts";
import { extend, FLAG, list, listIn, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";

export const KEY = object({
	id: TEXT,
	name: KEY_REQUEST_SCHEMA.properties.name,
	scopes: list({ enum: SCOPES }),
	"endpoints?": { ...list(ENDPOINT_ID), description: "Endpoints for which it is valid; absent: all." },
	createdAt: MOMENT,
	"expiresAt?": { ...MOMENT, description: "When it expires; absent: it does not." },
	"lastUsedAt?": { ...MOMENT, description: "Time of its last use, recorded at most once a minute." },
	"lastUsedAddress?": {
		...TEXT,
		description: "Address from which it was last used, or that of the proxy before the service.",
	},
});
export type Key = Static<typeof KEY>;

export const NEW_KEY = extend(KEY, { key: { ...TEXT, description: "The key itself, shown only in this answer." } });
export type NewKey = Static<typeof NEW_KEY>;

const KEY_LIST = extend(listIn("keys", KEY), {
	environment: {
		...FLAG,
		description: "Whether SLUICE_API_KEY of the service's environment is an admin key too. It is not stored.",
	},
});
export type KeyList = Static<typeof KEY_LIST>;

export const LIST_KEYS = route("listKeys", "GET /v1/keys", "admin", {
	summary: "API keys, without the keys themselves.",
	answer: { description: "The keys.", schema: KEY_LIST },
});

export const CREATE_KEY = route("createKey", "POST /v1/keys", "admin", {
	summary: "Creates an API key. Only this answer contains it.",
	answer: {
		description: "The key, shown only in this answer.",
		schema: NEW_KEY,
	},
	status: 201,
	body: {
		description: "The requested key.",
		schema: KEY_REQUEST_SCHEMA,
		checked: true,
	},
});

export const ROTATE_KEY = route("rotateKey", "POST /v1/keys/:key/rotate", "admin", {
	summary: "Replaces an API key. The former one is invalid at once, and only this answer contains the new one.",
	answer: {
		description: "The new key, shown only in this answer.",
		schema: NEW_KEY,
	},
	body: {
		description: "The new expiry, if it is to change.",
		schema: KEY_ROTATION_SCHEMA,
		checked: true,
	},
	errors: ["last_admin_key"],
});

export const REVOKE_KEY = route("revokeKey", "DELETE /v1/keys/:key", "admin", {
	summary: "Revokes an API key.",
	answer: { description: "The key before its removal.", schema: KEY },
	body: NO_BODY,
	errors: ["last_admin_key"],
});

export const KEY_ROUTES = [LIST_KEYS, CREATE_KEY, ROTATE_KEY, REVOKE_KEY] as const;
