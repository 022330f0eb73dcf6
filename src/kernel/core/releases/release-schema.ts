/** Schema of the setting `release` (D50). */
import { DAY_MS, duration } from "../durations.ts";
import type { Schema } from "../../lib/schema.ts";

export const RELEASE_DEFAULTS = { maxSurge: 1, failAfter: 3 } as const;

function whole(maximum: number, fallback: number, description: string): Schema {
	return { type: "integer", minimum: 0, maximum, default: fallback, description };
}

const CANARY: Schema = {
	type: "object",
	additionalProperties: false,
	required: ["percent"],
	properties: {
		percent: { type: "integer", minimum: 1, maximum: 50, description: "Share of the jobs, in percent." },
		minJobs: {
			...{ type: "integer", minimum: 10, maximum: 100_000, default: 50 },
			description: "Jobs of the new version after which it is judged for good.",
		},
		maxMs: duration("ms", [60_000, DAY_MS], {
			...{ example: "30m", default: 1_800_000 },
			description: "Time after which it is judged also with fewer jobs, from 10 of each version on.",
		}),
		maxSlowdown: {
			...{ type: "number", minimum: 0, maximum: 100, default: 2 },
			description: "A p95 of the runs of over so many times that of the version before undoes it; 0: not judged.",
		},
	},
	description:
		"One worker of a new version first gets this share of the jobs; if they fail more often than those of the last " +
		"healthy version, or take longer, it is undone. Needs workersMax of 2 or more.",
	examples: [{ percent: 10 }],
	"x-message": "must be an object with percent: write { percent: 10, minJobs: 50 }.",
};

export const RELEASE: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		maxSurge: whole(
			100,
			RELEASE_DEFAULTS.maxSurge,
			"Workers of a new version besides those that jobs need; over workersMax with gpusPerWorker, or on a platform " +
				"that places workers. With 0, or where nothing is free for them, one old worker makes place first.",
		),
		failAfter: whole(
			100,
			RELEASE_DEFAULTS.failAfter,
			"So many crashes before a worker of a new version was healthy bring the last healthy version back; 0: never.",
		),
		canary: CANARY,
	},
	default: RELEASE_DEFAULTS,
	description: "How workers are replaced after a change of launcher, env or GPUs, and when the change is undone.",
	"x-message": "must be an object: write { maxSurge: 1, failAfter: 3 }.",
};
