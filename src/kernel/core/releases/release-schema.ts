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
			description: "Number of jobs of the new version after which the comparison is final.",
		},
		maxMs: duration("ms", [60_000, DAY_MS], {
			...{ example: "30m", default: 1_800_000 },
			description: "Time after which the comparison is final with fewer jobs, at least 10 of each version.",
		}),
		maxSlowdown: {
			...{ type: "number", minimum: 0, maximum: 100, default: 2 },
			description:
				"Highest ratio of the p95 run times of the new and the stable version; above it the new is undone; 0: none.",
		},
	},
	description:
		"One worker of a new version first gets a share of the jobs. If they fail more often than those of the last " +
		"healthy version, or take longer, the new version is undone. Needs workersMax of 2 or more.",
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
			"Additional workers while a new version replaces the old one. They may exceed workersMax with gpusPerWorker or " +
				"on a platform that places workers. With 0, or if there is no capacity, an old worker is stopped first.",
		),
		failAfter: whole(
			100,
			RELEASE_DEFAULTS.failAfter,
			"Number of crashes, before a worker of a new version was healthy, after which the version is undone; 0: never.",
		),
		canary: CANARY,
	},
	default: RELEASE_DEFAULTS,
	description: "How workers are replaced after a change of launcher, env or GPUs, and when the change is undone.",
	"x-message": "must be an object: write { maxSurge: 1, failAfter: 3 }.",
};
