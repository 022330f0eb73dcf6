/** Schema of the limits of an endpoint (D23, D24, D43). */
import {
	DEFAULT_LIMITS,
	LIMITED_OPERATIONS,
	type LimitedOperation,
	STORED_MB,
	STREAM_CHUNKS,
	STREAM_MB,
} from "./limits.ts";
import type { Schema } from "../../lib/schema.ts";

const MOST_CHUNKS = `${STREAM_CHUNKS / 1e6} million`;

/** YAML 1.1 reads `off` as false. */
export const OFF: Schema = { enum: ["off", false] };

function wholeOrOff(rest: Schema): Schema {
	return {
		oneOf: [OFF, { type: "integer", minimum: 0 }],
		"x-message": "must be off or a whole number from 0.",
		...rest,
	};
}

function operationLimits(operation: LimitedOperation): Schema {
	const { per10s = "off", concurrent = "off" } = DEFAULT_LIMITS[operation];
	return {
		type: "object",
		additionalProperties: false,
		properties: {
			per10s: wholeOrOff({ default: per10s, description: `Requests of ${operation} in any 10 s.` }),
			concurrent: wholeOrOff({
				default: concurrent,
				description: `Requests of ${operation} in progress at once.`,
			}),
		},
		description: `Limits of ${operation}.`,
		"x-message": "must be an object such as { per10s: 100, concurrent: 20 }; each of the two may be off.",
	};
}

export const LIMITS: Schema = {
	oneOf: [
		OFF,
		{
			type: "object",
			additionalProperties: false,
			properties: {
				queue: wholeOrOff({
					description:
						"Submissions are refused while more jobs than this wait. Default: 50, or 500 times workersMax " +
						"if that is more.",
				}),
				storedMb: wholeOrOff({
					default: STORED_MB,
					description:
						"Submissions are refused while the endpoint's inputs, results and chunks together exceed this size, MB.",
				}),
				streamMb: wholeOrOff({
					default: STREAM_MB,
					description: `A job fails if its chunks together exceed this size, MB, or number more than ${MOST_CHUNKS}.`,
				}),
				gpuSecondsPerDay: wholeOrOff({
					default: "off",
					description:
						"GPU seconds a day: once the runs that ended since midnight UTC have taken this many seconds, times " +
						"gpusPerWorker, submissions are refused until the next midnight. Accepted jobs still run.",
				}),
				...Object.fromEntries(LIMITED_OPERATIONS.map((operation) => [operation, operationLimits(operation)])),
			},
		},
	],
	description:
		"Rate, concurrency and queue limits: off for no limits, or an object with the limits that differ from the " +
		"defaults, each a number or off.",
	examples: [{ run: { per10s: 5000, concurrent: "off" }, queue: 10_000 }],
	"x-message":
		"must be off, or an object of operations to { per10s, concurrent }, queue, storedMb, streamMb and " +
		"gpuSecondsPerDay.",
};
