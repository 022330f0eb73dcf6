/**
 * Schema of endpoint settings (D27, D35) for `sluice.yaml`, `/v1`, the console and the reference.
 * The launchers add the `launcher` schema (`src/endpoint-settings.ts`).
 */
import {
	DEFAULT_LIMITS,
	LIMITED_OPERATIONS,
	type LimitedOperation,
	STORED_MB,
	STREAM_CHUNKS,
	STREAM_MB,
} from "./limits.ts";
import type { Schema } from "./schema.ts";
import { NO_CONTROLS } from "./text.ts";

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** D9, D16, D18, D27. */
export const ENDPOINT_DEFAULTS = {
	workersMin: 0,
	workersMax: 3,
	idleTimeout: 5,
	executionTimeoutMs: 600_000,
	scalerType: "QUEUE_DELAY",
	scalerValue: 4,
	launcher: { type: "external" },
	env: {},
	limits: {},
	retention: { run: 30 * 60_000, runsync: 60_000, records: 7 * DAY_MS },
	leaseMs: 20_000,
	stopGraceMs: 5_000,
	initTimeoutMs: 600_000,
	gpusPerWorker: 0,
	webhooks: { schedule: "short", disableAfterMs: 5 * DAY_MS },
} as const;

/** Endpoint id in paths (D35). */
export const ENDPOINT_ID = {
	type: "string",
	pattern: "^[a-zA-Z0-9_-]{1,64}$",
	description: "Id of the endpoint, as it stands in paths.",
	examples: ["thumbnail"],
	"x-message": "must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
} as const satisfies Schema;

function whole(minimum: number, maximum: number, rest: Schema): Schema {
	return { type: "integer", minimum, maximum, ...rest };
}

/** YAML 1.1 reads `off` as false. */
const OFF: Schema = { enum: ["off", false] };

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

const LIMITS: Schema = {
	oneOf: [
		OFF,
		{
			type: "object",
			additionalProperties: false,
			properties: {
				queue: wholeOrOff({
					description:
						"Submissions are refused while more jobs than this wait. By default 50, or 500 times workersMax " +
						"where that is more.",
				}),
				storedMb: wholeOrOff({
					default: STORED_MB,
					description: "Submissions are refused while the endpoint's inputs, results and chunks have more megabytes.",
				}),
				streamMb: wholeOrOff({
					default: STREAM_MB,
					description: `A job fails whose chunks have more megabytes, or are more than ${STREAM_CHUNKS}.`,
				}),
				...Object.fromEntries(LIMITED_OPERATIONS.map((operation) => [operation, operationLimits(operation)])),
			},
		},
	],
	default: ENDPOINT_DEFAULTS.limits,
	description:
		"Rate, concurrency and queue limits: off for no limits, or changes to single numbers, each of " +
		"which may be off. What is not named keeps its default.",
	examples: [{ run: { per10s: 5000, concurrent: "off" }, queue: 10_000 }],
	"x-message": "must be off, or an object of operations to { per10s, concurrent }, queue, storedMb and streamMb.",
};

const ENV: Schema = {
	type: "object",
	propertyNames: {
		type: "string",
		pattern: "^[^=\\0]+$",
		"x-message": "must be at least one character, without '=' and NUL.",
	},
	additionalProperties: {
		oneOf: [
			{ type: "string", pattern: "^[^\\0]*$", "x-message": "must be text without NUL." },
			{ type: "number" },
			{ type: "boolean" },
		],
		"x-message": "must be text without NUL, a number or a boolean.",
	},
	default: ENDPOINT_DEFAULTS.env,
	description:
		"Environment of launched workers, beside what they need to find the service. Values are not " +
		"shown again: answers list the names.",
	examples: [{ MODEL: "small" }],
	"x-message": "must be an object of names to values.",
};

const WEBHOOKS: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		schedule: {
			oneOf: [
				{ enum: ["short", "long"] },
				{ type: "array", maxItems: 12, items: { type: "integer", minimum: 1000, maximum: DAY_MS } },
			],
			default: ENDPOINT_DEFAULTS.webhooks.schedule,
			description:
				"Waits between the attempts of a delivery: short for 2 more attempts, 10 s apart; long for 9 more, " +
				"the last after a day; or a list of waits in ms.",
			examples: [[10_000, 60_000, 3_600_000]],
			"x-message": "must be short, long, or a list of at most 12 waits, whole numbers from 1000 to 86400000 of ms.",
		},
		disableAfterMs: {
			oneOf: [OFF, { type: "integer", minimum: 3_600_000, maximum: 30 * DAY_MS }],
			"x-unit": "ms",
			default: ENDPOINT_DEFAULTS.webhooks.disableAfterMs,
			description:
				"A receiver that fails for so long, and 10 deliveries or more, is disabled until it is enabled again.",
			"x-message": "must be off or a whole number from 3600000 to 2592000000 of ms.",
		},
	},
	default: ENDPOINT_DEFAULTS.webhooks,
	description: "When webhooks are sent again, and when no more.",
	"x-message": "must be an object of schedule and disableAfterMs.",
};

const { retention: KEPT } = ENDPOINT_DEFAULTS;

const RETENTION: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		run: whole(0, YEAR_MS, {
			"x-unit": "ms",
			default: KEPT.run,
			description: "Results of /run jobs, from their end.",
		}),
		runsync: whole(0, YEAR_MS, {
			"x-unit": "ms",
			default: KEPT.runsync,
			description: "Results of /runsync and /openai jobs, from their end.",
		}),
		records: whole(0, YEAR_MS, {
			"x-unit": "ms",
			default: KEPT.records,
			description: "Records of jobs without their payloads, from their end.",
		}),
	},
	default: KEPT,
	description: "How long results and records are kept.",
	"x-message": "must be an object of run, runsync and records to ms.",
};

/** All settings, given the `launcher` schema. */
export function endpointSchema(launcher: Schema) {
	return {
		type: "object",
		additionalProperties: false,
		properties: {
			name: {
				type: "string",
				maxLength: 191,
				pattern: NO_CONTROLS,
				description: "Display name. Defaults to the id.",
				"x-message": "must be text of at most 191 characters without control characters.",
			},
			workersMin: whole(0, 1000, {
				default: ENDPOINT_DEFAULTS.workersMin,
				description: "Workers that run even without jobs; at most workersMax.",
			}),
			workersMax: whole(0, 1000, {
				default: ENDPOINT_DEFAULTS.workersMax,
				description: "Max workers at once; with 0, jobs wait.",
			}),
			idleTimeout: whole(1, 3600, {
				"x-unit": "seconds",
				default: ENDPOINT_DEFAULTS.idleTimeout,
				description: "How long an idle worker above workersMin stays.",
			}),
			executionTimeoutMs: whole(5001, Number.MAX_SAFE_INTEGER, {
				"x-unit": "ms",
				default: ENDPOINT_DEFAULTS.executionTimeoutMs,
				description: "Execution timeout of jobs that do not set policy.executionTimeout.",
			}),
			scalerType: {
				enum: ["QUEUE_DELAY", "REQUEST_COUNT"],
				default: ENDPOINT_DEFAULTS.scalerType,
				description: "What workers are added for: the wait of the oldest job, or the number of jobs.",
			},
			scalerValue: whole(1, 1_000_000, {
				default: ENDPOINT_DEFAULTS.scalerValue,
				description:
					"With QUEUE_DELAY the wait in seconds after which a worker is added; with REQUEST_COUNT the " +
					"jobs per worker.",
			}),
			launcher: { default: ENDPOINT_DEFAULTS.launcher, ...launcher },
			env: ENV,
			limits: LIMITS,
			retention: RETENTION,
			leaseMs: whole(2000, 600_000, {
				"x-unit": "ms",
				default: ENDPOINT_DEFAULTS.leaseMs,
				description: "How long a worker holds a job without a sign of life.",
			}),
			stopGraceMs: whole(0, 600_000, {
				"x-unit": "ms",
				default: ENDPOINT_DEFAULTS.stopGraceMs,
				description: "Time from the stop signal to the end of a worker's process.",
			}),
			initTimeoutMs: whole(1000, 86_400_000, {
				"x-unit": "ms",
				default: ENDPOINT_DEFAULTS.initTimeoutMs,
				description:
					"How long a launched worker may take to its first call, including loading its model. One that " +
					"takes longer is stopped and counts as crashed.",
			}),
			gpusPerWorker: whole(0, 64, {
				default: ENDPOINT_DEFAULTS.gpusPerWorker,
				description:
					"GPUs that each launched worker gets for itself: with process, and docker without hosts, of those that the " +
					"option gpus names, where an idle worker of another endpoint makes room, but never a busy one; elsewhere " +
					"of the platform's, where a worker waits until some are free.",
			}),
			webhooks: WEBHOOKS,
			webhookSecret: {
				type: "string",
				pattern:
					"^whsec_(?:(?:[A-Za-z0-9+/]{4}){8,20}" +
					"(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?" +
					"|(?:[A-Za-z0-9+/]{4}){21}(?:[A-Za-z0-9+/]{2}==)?)$",
				writeOnly: true,
				description: "Signs the webhooks of this endpoint after the Standard Webhooks scheme. Not shown again.",
				"x-message": "must be whsec_ and the base64 of 24 to 64 random bytes.",
			},
		},
		"x-message": "must be an object of settings.",
	} as const satisfies Schema;
}
