/** The body of `POST /v1/keys` (D30, D39). */
import { ENDPOINT_ID } from "./endpoint-schema.ts";
import type { Fault } from "./errors.ts";
import { check, isAbsent, type Schema } from "./schema.ts";
import { NO_CONTROLS } from "./text.ts";

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
			type: "string",
			minLength: 1,
			maxLength: 100,
			pattern: NO_CONTROLS,
			description: "What the key is for.",
			examples: ["nightly batch"],
			"x-message": "must be text of 1 to 100 characters without control characters.",
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

/** Maximum overlap of a rotation, ms. */
const MAX_OVERLAP_MS = 30 * 86_400_000;

export const KEY_ROTATION_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		overlapMs: {
			type: "integer",
			minimum: 0,
			maximum: MAX_OVERLAP_MS,
			default: 86_400_000,
			description: "How long the key before stays valid, ms.",
			"x-message": `must be a whole number of ms from 0 to ${MAX_OVERLAP_MS}.`,
		},
		expiresAt: { ...EXPIRES_AT, description: "New expiry; absent: as before." },
	},
	"x-message": "must be an object with overlapMs and expiresAt, both optional.",
} as const satisfies Schema;

/** A requested key. */
interface KeyRequest {
	name: string;
	scopes: Scope[];
	/** Endpoints it may use; absent: all. */
	endpoints?: string[];
	/** When it expires, ms; absent: never. */
	expiresAt?: number;
}

/** A requested rotation. */
interface KeyRotation {
	overlapMs: number;
	expiresAt?: number;
}

type Read<T> = { ok: true; request: T } | { ok: false; faults: [Fault, ...Fault[]] };

/** The expiry of a request, if it has one; undefined if that is not in the future. */
function expiryIn(value: string | null | undefined, now: number): { expiresAt?: number } | undefined {
	if (isAbsent(value)) return {};
	const expiresAt = Date.parse(value);
	return expiresAt > now ? { expiresAt } : undefined;
}

const NO_EXPIRY: [Fault] = [{ field: "expiresAt", message: EXPIRES_AT["x-message"] }];
const ADMIN_OF_SOME: [Fault] = [
	{
		field: "endpoints",
		message:
			"cannot go with the scope admin: such a key could make itself one without the limit. " +
			"Leave out endpoints, or admin.",
	},
];

/** Reads the body of a rotation, or returns every fault. */
export function readKeyRotation(raw: unknown, now: number): Read<KeyRotation> {
	const [first, ...rest] = check(KEY_ROTATION_SCHEMA, raw);
	if (first) return { ok: false, faults: [first, ...rest] };
	const { overlapMs, expiresAt } = raw as { overlapMs?: number | null; expiresAt?: string | null };
	const expiry = expiryIn(expiresAt, now);
	if (!expiry) return { ok: false, faults: NO_EXPIRY };
	const { default: usual } = KEY_ROTATION_SCHEMA.properties.overlapMs;
	return { ok: true, request: { overlapMs: overlapMs ?? usual, ...expiry } };
}

/** Reads the body, or returns every fault. Repeated scopes and endpoints count once. */
export function readKeyRequest(raw: unknown, now: number): Read<KeyRequest> {
	const [first, ...rest] = check(KEY_REQUEST_SCHEMA, raw);
	if (first) return { ok: false, faults: [first, ...rest] };
	const { name, scopes, endpoints, expiresAt } = raw as Pick<KeyRequest, "name" | "scopes"> & {
		endpoints?: string[] | null;
		expiresAt?: string | null;
	};
	const expiry = expiryIn(expiresAt, now);
	if (!expiry) return { ok: false, faults: NO_EXPIRY };
	if (scopes.includes("admin") && !isAbsent(endpoints)) return { ok: false, faults: ADMIN_OF_SOME };
	return {
		ok: true,
		request: {
			name,
			scopes: [...new Set(scopes)],
			...(isAbsent(endpoints) ? {} : { endpoints: [...new Set(endpoints)] }),
			...expiry,
		},
	};
}
