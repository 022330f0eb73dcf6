/** `files` of `sluice.yaml` (D56): how much may be stored, and where. */
import type { SettingsSource } from "../../kernel/config/module-settings.ts";
import type { Schema } from "../../kernel/lib/schema.ts";
import { MOST_PARTS, PART_BYTES } from "./bucket/parts.ts";
import { BUCKET_SCHEMA, bucketSettings, type BucketSettings, type GivenBucket } from "./bucket/settings.ts";

const MB = 2 ** 20;

/** MB, as in the file. */
const DEFAULTS = { maxMb: 512, endpointMb: 10_240, totalMb: 102_400 } as const;

export type GivenFiles = Partial<Record<keyof typeof DEFAULTS, number>> & { bucket?: GivenBucket };

/** Bytes. */
export interface FilesSettings {
	maxBytes: number;
	endpointBytes: number;
	totalBytes: number;
	/** Absent: the place of the store has the bytes. */
	bucket?: BucketSettings;
}

function bound(name: keyof typeof DEFAULTS, description: string): Schema {
	return {
		type: "integer",
		minimum: 1,
		maximum: 2 ** 30,
		default: DEFAULTS[name],
		description: `${description}, in MB of 1,048,576 bytes.`,
		"x-message": "must be a whole number of MB from 1 to 1073741824.",
	};
}

export const FILES_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		maxMb: bound("maxMb", "Size of one file at most"),
		endpointMb: bound("endpointMb", "Size of all files of one endpoint together at most"),
		totalMb: bound("totalMb", "Size of all files of all endpoints together at most"),
		bucket: BUCKET_SCHEMA,
	},
	description: "Bounds of the files that clients upload with OpenAI's API, and a bucket for their bytes.",
	"x-message": "must be an object with maxMb, endpointMb, totalMb and bucket.",
} as const satisfies Schema;

/** An object of a bucket has so many parts at most. */
const BUCKET_MB = (MOST_PARTS * PART_BYTES) / MB;

/** Faults of the bucket are added to the problems of `source`, which is needed for one. */
export function filesSettings(given: GivenFiles, source?: SettingsSource): FilesSettings {
	const { maxMb, endpointMb, totalMb } = { ...DEFAULTS, ...given };
	const bounds = { maxBytes: maxMb * MB, endpointBytes: endpointMb * MB, totalBytes: totalMb * MB };
	if (!given.bucket || !source) return bounds;
	if (maxMb > BUCKET_MB)
		source.problems.push(`${source.path}: files.maxMb must be at most ${BUCKET_MB} with files.bucket.`);
	return { ...bounds, bucket: bucketSettings(given.bucket, source) };
}
