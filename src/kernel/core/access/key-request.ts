/** The body of `POST /v1/keys` (D30, D39). */
import { ENDPOINT_ID } from "../endpoints/endpoint-schema.ts";
import { check, plainText, type Read, type Schema, withDefaults } from "../../lib/schema.ts";

/** `admin` allows everything, `write` includes `read` (D30). */
export const SCOPES = ["read", "write", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

const EXPIRES_AT = {
	type: "string",
	pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)$",
	description: "When the key expires; absent: never.",
	"x-message": "must be a moment in the future, such as 2030-01-31T00:00:00Z.",
} as const satisfies Schema;

export const KEY_REQUEST_SCHEMA = {
	type: "object",
	additionalProperties: false,
	required: ["name", "scopes"],
	properties: {
		name: {
			...plainText(1, 100),
			description: "What the key is for.",
			examples: ["nightly batch"],
		},
		scopes: {
			type: "array",
			minItems: 1,
			items: { enum: SCOPES },
			description: "read: jobs and endpoints; write: also submit, cancel and retry; admin: everything.",
			examples: [["write"]],
			"x-message": "must be a list of one or more of read, write and admin.",
		},
		endpoints: {
			type: "array",
			minItems: 1,
			items: ENDPOINT_ID,
			description: "Ids of the only endpoints it is valid for; absent: all. Not with the scope admin.",
			examples: [["thumbnail"]],
			"x-message": "must be a list of one or more endpoint ids; leave it out for all endpoints.",
		},
		expiresAt: EXPIRES_AT,
	},
	"x-message": "must be an object with name, scopes and optionally endpoints and expiresAt.",
} as const satisfies Schema;

export const KEY_ROTATION_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		expiresAt: { ...EXPIRES_AT, description: "New expiry; absent: as before." },
	},
	"x-message": "must be an object, with expiresAt or nothing.",
} as const satisfies Schema;

interface KeyRequest {
	name: string;
	scopes: Scope[];
	/** Absent: all. */
	endpoints?: string[];
	/** Ms since the epoch; absent: never. */
	expiresAt?: number;
}

interface KeyRotation {
	expiresAt?: number;
}

/** Returns every fault. An expiry must be in the future. */
function read<T extends object>(schema: Schema, raw: unknown, now: number): Read<{ request: T }> {
	const faults = check(schema, raw);
	if (faults.length > 0) return { ok: false, faults };
	const body = withDefaults(schema, raw);
	const { expiresAt: text } = body as { expiresAt?: string };
	if (text === undefined) return { ok: true, request: body as T };
	const expiresAt = Date.parse(text);
	if (expiresAt > now) return { ok: true, request: { ...(body as T), expiresAt } };
	return { ok: false, faults: [{ field: "expiresAt", message: EXPIRES_AT["x-message"] }] };
}

export function readKeyRotation(raw: unknown, now: number): Read<{ request: KeyRotation }> {
	return read(KEY_ROTATION_SCHEMA, raw, now);
}

/** Repeated scopes and endpoints count once. */
export function readKeyRequest(raw: unknown, now: number): Read<{ request: KeyRequest }> {
	const found = read<KeyRequest>(KEY_REQUEST_SCHEMA, raw, now);
	if (!found.ok) return found;
	const { scopes, endpoints, ...rest } = found.request;
	if (scopes.includes("admin") && endpoints) return { ok: false, faults: [ADMIN_OF_SOME] };
	const only = endpoints && { endpoints: [...new Set(endpoints)] };
	return { ok: true, request: { ...rest, scopes: [...new Set(scopes)], ...only } };
}

const ADMIN_OF_SOME = {
	field: "endpoints",
	message:
		"cannot go with the scope admin: such a key could make itself one without the limit. " +
		"Leave out endpoints, or admin.",
};
