/** Secrets of the management API: variables name them as {{ RUNPOD_SECRET_name }} (D49). */
import { MAX_SECRET_CHARS, SECRET_NAME } from "../resources/secret-names.ts";
import { plainText, type Schema } from "../../../kernel/lib/schema.ts";
import { text } from "../../../kernel/api/definition/params.ts";
import { ERRORS } from "../errors.ts";
import { NOT_FOUND } from "./operation.ts";
import { changeOf, resource } from "./resource.ts";
import { listIn, MOMENT, object, type Static, TEXT } from "../../../kernel/api/definition/schema.ts";

const SECRET = object({
	id: TEXT,
	name: TEXT,
	description: { type: ["string", "null"] } as const,
	createdAt: MOMENT,
	valueLastUpdatedAt: MOMENT,
});
export type Secret = Static<typeof SECRET>;

const VALUE = {
	type: "string",
	minLength: 1,
	maxLength: MAX_SECRET_CHARS,
	pattern: "^[^\\0]*$",
	writeOnly: true,
	description: "Stored encrypted, and never shown.",
	"x-message": `must be text of 1 to ${MAX_SECRET_CHARS} characters without NUL.`,
} as const satisfies Schema;

const DESCRIPTION = plainText(0, 1000);

const CREATED = {
	type: "object",
	additionalProperties: false,
	required: ["name", "value"],
	properties: { name: SECRET_NAME, value: VALUE, description: DESCRIPTION },
	"x-message": "must be an object with name and value.",
} as const satisfies Schema;

const CHANGED = {
	type: "object",
	additionalProperties: false,
	properties: { value: VALUE, description: { ...DESCRIPTION, description: "Empty: none." } },
	"x-message": "must be an object with value or description.",
} as const satisfies Schema;

const ONE = { description: "The secret, without its value.", schema: SECRET };

export const NAME_FILTER = text("name", 191, "Only the secret with this name, in any case.");

export const SECRETS = resource({
	names: ["Secret", "Secrets"],
	path: "/v2/account/secrets",
	id: "secret",
	answer: ONE,
	all: { description: "The secrets, newest first.", schema: listIn("secrets", SECRET) },
	query: [NAME_FILTER],
	summaries: ["Secrets, without their values.", "One secret, without its value."],
	create: {
		summary: "Stores a secret, which env of endpoints names as {{ RUNPOD_SECRET_name }}; workers get the value.",
		description: "Name and value.",
		schema: CREATED,
		errors: [ERRORS.secret_exists],
	},
	remove: { summary: "Deletes a secret. Workers that still name it do not start any more.", errors: NOT_FOUND },
});

export const CHANGE_SECRET = changeOf({
	name: "Secret",
	path: "/v2/account/secrets/:secret",
	answer: ONE,
	summary: "Changes the value or the description. Workers that run keep the value that they got.",
	body: { description: "At least one of them.", schema: CHANGED },
});

export const SECRET_ROUTES = [SECRETS.list, SECRETS.create, SECRETS.get, CHANGE_SECRET, SECRETS.remove] as const;
