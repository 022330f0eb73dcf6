/** The bodies of errors (D2, D32). */
import { list, object, TEXT } from "../../src/kernel/api/definition/schema.ts";

export const ERROR = object({
	error: { ...TEXT, description: "What is wrong, the bound, and what to do." },
	code: { ...TEXT, description: "The error in machine-readable form." },
	"details?": list(
		object({ field: { ...TEXT, description: "Path of the field, such as policy.ttl." }, message: TEXT }),
	),
});

/** RFC 9457. */
export const PROBLEM = object(
	{
		title: TEXT,
		status: { type: "integer" },
		detail: { ...TEXT, description: "What is wrong, the bound, and what to do." },
		"errors?": { ...list(TEXT), description: "One sentence for each fault, such as $.workers.min must be ..." },
	},
	{ description: "Errors of the management API are problem details." },
);

export const OPENAI_ERROR = object(
	{
		error: object({
			message: TEXT,
			type: TEXT,
			param: { type: ["string", "null"] },
			code: { type: ["string", "integer", "null"] },
		}),
	},
	{ description: "Errors under /openai have OpenAI's form." },
);
