/** Schema of the setting `release` (D50). */
import type { Schema } from "../../lib/schema.ts";

export const RELEASE_DEFAULTS = { maxSurge: 1, maxUnavailable: 0, minJobs: 1, failAfter: 3 } as const;

function whole(maximum: number, fallback: number, description: string): Schema {
	return { type: "integer", minimum: 0, maximum, default: fallback, description };
}

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
		maxUnavailable: whole(
			100,
			RELEASE_DEFAULTS.maxUnavailable,
			"Old workers that may leave before a healthy one takes their place, once the new version has proved healthy.",
		),
		minJobs: whole(
			1000,
			RELEASE_DEFAULTS.minJobs,
			"Jobs that a new worker must have finished to be healthy; one that is ready while no job waits is healthy too.",
		),
		failAfter: whole(
			100,
			RELEASE_DEFAULTS.failAfter,
			"So many crashes before a worker of a new version was healthy bring the last healthy version back; 0: never.",
		),
	},
	default: RELEASE_DEFAULTS,
	description: "How workers are replaced after a change of launcher, env or GPUs, and when the change is undone.",
	"x-message": "must be an object: write { maxSurge: 1, failAfter: 3 }.",
};
