/** `s3` of `sluice.yaml` (D59): how long objects are kept. */
import type { Schema } from "../../kernel/lib/schema.ts";

const DAY_MS = 86_400_000;

/** The life of the links that RunPod's `rp_upload` makes. */
const KEEP_DAYS = 7;

export interface GivenS3 {
	keepDays?: number;
}

export interface S3Settings {
	/** Life of an object, ms; undefined: until it is deleted. */
	keepMs: number | undefined;
}

export const S3_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		keepDays: {
			type: "integer",
			minimum: 0,
			maximum: 36_500,
			default: KEEP_DAYS,
			description: "Days for which an object is kept after it was written; 0: until it is deleted.",
			"x-message": "must be a whole number of days from 0 to 36500.",
		},
	},
	description: "Objects that S3 clients store.",
	"x-message": "must be an object with keepDays.",
} as const satisfies Schema;

export function s3Settings({ keepDays = KEEP_DAYS }: GivenS3): S3Settings {
	return { keepMs: keepDays === 0 ? undefined : keepDays * DAY_MS };
}
