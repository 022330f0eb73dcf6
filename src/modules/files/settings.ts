/** `files` of `sluice.yaml` (D56): how much may be stored. */
import type { Schema } from "../../kernel/lib/schema.ts";

const MB = 2 ** 20;

/** MB, as in the file. */
const DEFAULTS = { maxMb: 512, endpointMb: 10_240, totalMb: 102_400 } as const;

export type GivenFiles = Partial<Record<keyof typeof DEFAULTS, number>>;

/** Bytes. */
export interface FilesSettings {
	maxBytes: number;
	endpointBytes: number;
	totalBytes: number;
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
	},
	description: "Bounds of the files that clients upload with OpenAI's API.",
	"x-message": "must be an object with maxMb, endpointMb and totalMb.",
} as const satisfies Schema;

export function filesSettings(given: GivenFiles): FilesSettings {
	const { maxMb, endpointMb, totalMb } = { ...DEFAULTS, ...given };
	return { maxBytes: maxMb * MB, endpointBytes: endpointMb * MB, totalBytes: totalMb * MB };
}
