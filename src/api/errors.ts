/** The bodies of errors (D2, D32). */
import { list, type Static, TEXT } from "./schema.ts";

export const ERROR = {
	type: "object",
	required: ["error", "code"],
	properties: {
		error: { ...TEXT, description: "What is wrong, the bound, and what to do." },
		code: { ...TEXT, description: "The error in machine-readable form." },
		details: list({
			type: "object",
			required: ["field", "message"],
			properties: {
				field: { ...TEXT, description: "Path of the field, such as policy.ttl." },
				message: TEXT,
			},
		}),
	},
} as const;
export type ErrorBody = Static<typeof ERROR>;

export const OPENAI_ERROR = {
	type: "object",
	required: ["error"],
	properties: {
		error: {
			type: "object",
			required: ["message", "type", "param", "code"],
			properties: {
				message: TEXT,
				type: TEXT,
				param: { type: ["string", "null"] },
				code: { type: ["string", "integer", "null"] },
			},
		},
	},
	description: "Errors under /openai have OpenAI's form.",
} as const;
export type OpenAIErrorBody = Static<typeof OPENAI_ERROR>;
