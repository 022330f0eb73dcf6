/** The body of `POST /v1/keys` (D30, D39). */
import { ENDPOINT_ID } from "./endpoint-schema.ts";
import type { Fault } from "./errors.ts";
import { check, isAbsent } from "./schema.ts";
import type { Schema } from "./schema.ts";

/** `admin` allows everything, `write` includes `read` (D30). */
export const SCOPES = ["read", "write", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export const KEY_REQUEST_SCHEMA = {
	type: "object",
	additionalProperties: false,
	required: ["name", "scopes"],
	properties: {
		name: {
			type: "string",
			minLength: 1,
			maxLength: 100,
			description: "What the key is for.",
			examples: ["nightly batch"],
		},
		scopes: {
			type: "array",
			minItems: 1,
			items: { enum: SCOPES },
			description:
				"read: jobs and endpoints; write: also submit, cancel and retry; admin: everything.",
			examples: [["write"]],
			"x-message": "must be a list of one or more of read, write and admin.",
		},
		endpoints: {
			type: "array",
			minItems: 1,
			items: ENDPOINT_ID,
			description:
				"Ids of the only endpoints it is valid for; absent: all. Not with the scope admin.",
			examples: [["thumbnail"]],
			"x-message": "must be a list of one or more endpoint ids; leave it out for all endpoints.",
		},
	},
	"x-message": "must be an object with name, scopes and optionally endpoints.",
} as const satisfies Schema;

/** A requested key. */
export interface KeyRequest {
	name: string;
	scopes: (typeof SCOPES)[number][];
	/** Endpoints it may use; absent: all. */
	endpoints?: string[];
}

/** Reads the body, or returns every fault. Repeated scopes and endpoints count once. */
export function readKeyRequest(
	raw: unknown,
): { ok: true; request: KeyRequest } | { ok: false; faults: [Fault, ...Fault[]] } {
	const [first, ...rest] = check(KEY_REQUEST_SCHEMA, raw);
	if (first) return { ok: false, faults: [first, ...rest] };
	const { name, scopes, endpoints } = raw as Omit<KeyRequest, "endpoints"> & {
		endpoints?: string[] | null;
	};
	if (scopes.includes("admin") && !isAbsent(endpoints)) {
		return {
			ok: false,
			faults: [
				{
					field: "endpoints",
					message:
						"cannot go with the scope admin: such a key could make itself one without the limit. " +
						"Leave out endpoints, or admin.",
				},
			],
		};
	}
	return {
		ok: true,
		request: {
			name,
			scopes: [...new Set(scopes)],
			...(isAbsent(endpoints) ? {} : { endpoints: [...new Set(endpoints)] }),
		},
	};
}
