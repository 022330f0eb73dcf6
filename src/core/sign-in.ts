/** The body of `POST /console/session` (D31). */
import type { Schema } from "./schema.ts";

export const SIGN_IN_SCHEMA = {
	type: "object",
	required: ["key"],
	properties: {
		key: {
			type: "string",
			minLength: 1,
			maxLength: 1000,
			writeOnly: true,
			description: "An API key.",
			"x-message": "must be text of 1 to 1000 characters.",
		},
	},
	"x-message": "must be an object with key.",
} as const satisfies Schema;
