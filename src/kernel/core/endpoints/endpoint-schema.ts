/**
 * Schema of endpoint settings (D27, D35). The launchers add the `launcher` schema
 * (`src/kernel/launchers/endpoint-settings.ts`).
 */
import { PRIORITIES } from "../workers/priority.ts";
import { DAY_MS, duration } from "../durations.ts";
import { LIMITS } from "./limits-schema.ts";
import { MANAGEMENT_SETTING } from "./management-setting.ts";
import { SLEEP, WARMUP } from "./worker-schema.ts";
import { RELEASE, RELEASE_DEFAULTS } from "../releases/release-schema.ts";
import type { Schema } from "../../lib/schema.ts";
import { NO_CONTROLS } from "../../lib/text.ts";

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
	gpuMemoryEnforce: false,
	priority: "normal",
	passRequestId: false,
	webhooks: { schedule: "short", input: true },
	release: RELEASE_DEFAULTS,
} as const;

/** Also in paths (D35). */
export const ENDPOINT_ID = {
	type: "string",
	pattern: "^[a-zA-Z0-9_-]{1,64}$",
	description: "Endpoint id, as in the URL.",
	examples: ["thumbnail"],
	"x-message": "must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
} as const satisfies Schema;

/** Bounds of `initTimeoutMs`. */
export const INIT_TIMEOUT_MS = [1000, 86_400_000] as const;

function whole(minimum: number, maximum: number, rest: Schema): Schema {
	return { type: "integer", minimum, maximum, ...rest };
}

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
		"Environment variables of launched workers, in addition to those with which they call the service. Answers " +
		"contain only the names, never the values.",
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
				{ type: "array", maxItems: 12, items: duration("ms", [1000, DAY_MS], { example: "10s" }) },
			],
			default: ENDPOINT_DEFAULTS.webhooks.schedule,
			description:
				"Waits between the attempts of a delivery: short for 2 further attempts, 10 s apart; long for 9 further " +
				"ones, the last after a day; or a list of waits.",
			examples: [[10_000, 60_000, 3_600_000]],
			"x-message":
				"must be short, long, or a list of at most 12 waits from 1s to 24h, such as [10s, 5m]; a number is in ms.",
		},
		input: {
			type: "boolean",
			default: ENDPOINT_DEFAULTS.webhooks.input,
			description: "Whether webhooks contain the input of the job, as RunPod's do.",
			"x-message": "must be true or false.",
		},
	},
	default: ENDPOINT_DEFAULTS.webhooks,
	description: "When webhooks are sent again, and whether they contain the input.",
	"x-message": "must be an object: write { schedule: long, input: false }.",
};

const WEBHOOK_SECRET: Schema = {
	type: "string",
	pattern:
		"^whsec_(?:(?:[A-Za-z0-9+/]{4}){8,20}" +
		"(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?" +
		"|(?:[A-Za-z0-9+/]{4}){21}(?:[A-Za-z0-9+/]{2}==)?)$",
	writeOnly: true,
	description: "Secret that signs the webhooks of this endpoint, as Standard Webhooks defines it. Not shown again.",
	"x-message": "must be whsec_ and the base64 of 24 to 64 random bytes.",
};

const { retention: KEPT } = ENDPOINT_DEFAULTS;

const RETENTION: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		run: duration("ms", [0, YEAR_MS], {
			example: "24h",
			default: KEPT.run,
			description: "How long results of /run jobs are kept after the job's end.",
		}),
		runsync: duration("ms", [0, YEAR_MS], {
			example: "1m",
			default: KEPT.runsync,
			description: "How long results of /runsync and /openai jobs are kept after the job's end.",
		}),
		records: duration("ms", [0, YEAR_MS], {
			example: "7d",
			default: KEPT.records,
			description: "How long records of jobs, without their payloads, are kept after the job's end.",
		}),
	},
	default: KEPT,
	description: "How long results and records are kept.",
	"x-message": "must be an object: write { run: 24h, runsync: 1m, records: 7d }.",
};

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
				description: "Maximum number of workers; release.maxSurge may exceed it. With 0, jobs wait.",
			}),
			idleTimeout: duration("seconds", [1, 3600], {
				example: "5m",
				default: ENDPOINT_DEFAULTS.idleTimeout,
				description: "How long a worker may be idle before it is stopped, unless it is within workersMin.",
			}),
			executionTimeoutMs: duration("ms", [5001, Number.MAX_SAFE_INTEGER], {
				example: "10m",
				default: ENDPOINT_DEFAULTS.executionTimeoutMs,
				description: "Execution timeout of jobs that do not set policy.executionTimeout.",
			}),
			scalerType: {
				enum: ["QUEUE_DELAY", "REQUEST_COUNT"],
				default: ENDPOINT_DEFAULTS.scalerType,
				description:
					"When workers are added: by the wait of the oldest job (QUEUE_DELAY), or by the number of jobs " +
					"(REQUEST_COUNT).",
			},
			scalerValue: {
				type: "number",
				minimum: 0.5,
				maximum: 1_000_000,
				default: ENDPOINT_DEFAULTS.scalerValue,
				description:
					"With QUEUE_DELAY, the wait in seconds after which a worker is added, such as 4 or 1.5; with " +
					"REQUEST_COUNT, the number of jobs per worker, a whole number.",
				"x-message": "must be a number from 0.5 to 1,000,000.",
			},
			launcher: { default: ENDPOINT_DEFAULTS.launcher, ...launcher },
			env: ENV,
			limits: { ...LIMITS, default: ENDPOINT_DEFAULTS.limits },
			retention: RETENTION,
			leaseMs: duration("ms", [2000, 600_000], {
				example: "20s",
				default: ENDPOINT_DEFAULTS.leaseMs,
				description: "How long a worker may hold a job without a ping or another call about it.",
			}),
			stopGraceMs: duration("ms", [0, 600_000], {
				example: "5s",
				default: ENDPOINT_DEFAULTS.stopGraceMs,
				description: "Time that a worker has after the stop signal before its process is killed.",
			}),
			initTimeoutMs: duration("ms", INIT_TIMEOUT_MS, {
				example: "10m",
				default: ENDPOINT_DEFAULTS.initTimeoutMs,
				description:
					"How long a launched worker may take until its first call and the end of its warm-up, including loading " +
					"its model. A worker that takes longer is stopped and counts as crashed. If it is absent or null, " +
					"RUNPOD_INIT_TIMEOUT of env applies, in seconds; a later change of that variable alone has no effect.",
			}),
			gpusPerWorker: whole(0, 64, {
				default: ENDPOINT_DEFAULTS.gpusPerWorker,
				description:
					"Number of GPUs that each launched worker has exclusively, or shares with gpuMemoryGb. On this machine " +
					"they are those of the option gpus. If none is free, idle workers of other endpoints are stopped, " +
					"and busy ones after their turn.",
			}),
			gpuMemoryGb: {
				type: "number",
				minimum: 0.1,
				maximum: 10_000,
				description:
					"Memory that a worker may use of each of its GPUs, in GB of 10^9 bytes. Workers share a GPU if their " +
					"parts fit. Implies one GPU. Only with the launchers process and docker. Default: the whole GPU.",
				examples: [10],
				"x-message": "must be a number of GB from 0.1 to 10,000.",
			},
			gpuMemoryEnforce: {
				type: "boolean",
				default: ENDPOINT_DEFAULTS.gpuMemoryEnforce,
				description:
					"With gpuMemoryGb: whether a worker on this machine that uses more than its part, by nvidia-smi, " +
					"gets no more jobs and is stopped when it has finished those it has. Otherwise it is only reported.",
				"x-message": "must be true or false.",
			},
			priority: {
				enum: PRIORITIES,
				default: ENDPOINT_DEFAULTS.priority,
				description:
					"Which endpoints get GPUs first. For an endpoint of higher priority, busy workers of others are stopped " +
					"after their jobs, even those within workersMin. Endpoints of equal priority take turns.",
				"x-message": "must be low, normal or high.",
			},
			passRequestId: {
				type: "boolean",
				default: ENDPOINT_DEFAULTS.passRequestId,
				description:
					"Whether workers get the X-Request-Id that the client sent with a job, as member requestId of the job.",
				"x-message": "must be true or false.",
			},
			sleep: SLEEP,
			warmup: WARMUP,
			release: RELEASE,
			management: MANAGEMENT_SETTING,
			webhooks: WEBHOOKS,
			webhookSecret: WEBHOOK_SECRET,
		},
		"x-message": "must be an object of settings.",
	} as const satisfies Schema;
}
