/**
 * The settings of an endpoint as a schema (D27, D35): every name, bound and default, for the file,
 * `/v1` and the console alike.
 */
import { DEFAULT_LIMITS, LIMITED_OPERATIONS } from "./limits.ts";
import type { LimitedOperation } from "./limits.ts";
import type { Schema } from "./schema.ts";

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** Where nothing is said (D9, D16, D18, D27). */
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
} as const;

/** The id of an endpoint in paths (D35). */
export const ENDPOINT_ID: Schema = {
	type: "string",
	pattern: "^[a-zA-Z0-9_-]{1,64}$",
	description: "Id of the endpoint, as it stands in paths.",
	examples: ["thumbnail"],
	"x-message": "must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
};

function whole(minimum: number, maximum: number, rest: Schema): Schema {
	return { type: "integer", minimum, maximum, ...rest };
}

/** `off` as it is written, and as YAML 1.1 reads it. */
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
				description: `Requests of ${operation} under way at once.`,
			}),
		},
		description: `Limits of ${operation}.`,
		"x-message":
			"must be an object such as { per10s: 100, concurrent: 20 }; each of the two may be off.",
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
						"Submissions are refused while more jobs than this wait. By default 50, or 500 times workersMax where that is more.",
				}),
				...Object.fromEntries(
					LIMITED_OPERATIONS.map((operation) => [operation, operationLimits(operation)]),
				),
			},
		},
	],
	default: ENDPOINT_DEFAULTS.limits,
	description:
		"Rate, concurrency and queue limits: off for none at all, or changes to single numbers, each of which may be off. What is not named keeps its default.",
	examples: [{ run: { per10s: 5000, concurrent: "off" }, queue: 10_000 }],
	"x-message": "must be off, or an object of operations to { per10s, concurrent } and queue.",
};

const LAUNCHER_TYPE = "must be process, docker or external; kubernetes is not available yet.";

const DOCKER: Schema = {
	type: "object",
	additionalProperties: false,
	required: ["type", "image"],
	properties: {
		type: {
			const: "docker",
			description:
				"Workers are containers of the Docker daemon that DOCKER_HOST names, by default the one of this machine.",
			"x-message": LAUNCHER_TYPE,
		},
		image: {
			type: "string",
			pattern: "^\\S{1,255}$",
			description: "Image; it must be there, nothing is pulled.",
			"x-message": "must be the name of an image, such as my-worker:1.0.",
		},
		command: {
			type: "array",
			minItems: 1,
			items: { type: "string", "x-message": "must be text; put quotes around a number." },
			description: "Replaces the CMD of the image; its ENTRYPOINT stays.",
			"x-message":
				"must be a list of the command and its arguments, such as [python, -u, handler.py].",
		},
		memory: {
			oneOf: [
				{
					type: "string",
					pattern: "^[1-9][0-9]{0,11}[bkmgBKMG]?$",
					"x-message": "must be a size such as 512m or 8g.",
				},
				{ type: "integer", minimum: 6 * 1024 * 1024 },
			],
			description: "Most memory it may use: bytes, or with k, m or g behind the number.",
			"x-message": "must be a size such as 512m or 8g, or bytes from 6291456.",
		},
		cpus: {
			type: "number",
			minimum: 0.01,
			maximum: 1024,
			description: "Most processor cores it may use, such as 1.5.",
		},
		volumes: {
			type: "array",
			items: {
				type: "string",
				pattern: "^[^:]+:/[^:]*(:(ro|rw))?$",
				"x-message": "must be source:/path or source:/path:ro.",
			},
			description:
				"Folders or volumes it sees, as source:/path or source:/path:ro; a folder by its absolute path.",
			"x-message": "must be a list of source:/path, each perhaps with :ro behind it.",
		},
		network: {
			type: "string",
			pattern: "^[a-zA-Z0-9][a-zA-Z0-9_.-]*$",
			description: "host, which is the default on Linux, or the name of a Docker network.",
			"x-message": "must be host or the name of a Docker network.",
		},
		gpus: {
			oneOf: [
				{ const: "all" },
				{ type: "integer", minimum: 0, maximum: 1024 },
				{
					type: "array",
					items: {
						oneOf: [
							{ type: "string", minLength: 1 },
							{ type: "integer", minimum: 0 },
						],
					},
				},
			],
			description: "GPUs it gets: all, how many, or a list of their numbers or ids.",
			"x-message": "must be all, a whole number from 0 to 1024, or a list of GPU numbers or ids.",
		},
	},
};

const LAUNCHER: Schema = {
	oneOf: [
		{
			type: "object",
			additionalProperties: false,
			required: ["type", "command"],
			properties: {
				type: {
					const: "process",
					description: "Workers are processes on the machine of the service.",
					"x-message": LAUNCHER_TYPE,
				},
				command: {
					type: "array",
					minItems: 1,
					items: { type: "string", "x-message": "must be text; put quotes around a number." },
					description: "Program and arguments, without a shell.",
					"x-message":
						"must be a list of the command and its arguments, such as [node, worker.js].",
				},
				cwd: {
					type: "string",
					minLength: 1,
					description: "Directory it runs in; relative to sluice.yaml in the file.",
					"x-message": "must be the path of a directory.",
				},
			},
		},
		DOCKER,
		{
			type: "object",
			additionalProperties: false,
			required: ["type"],
			properties: {
				type: {
					const: "external",
					description:
						"Somebody else starts the workers, with the variables of 'sluice worker-env'.",
					"x-message": LAUNCHER_TYPE,
				},
			},
		},
	],
	default: ENDPOINT_DEFAULTS.launcher,
	description: "How the endpoint gets its workers.",
	examples: [{ type: "process", command: ["node", "worker.js"] }],
	"x-message": "must be an object such as { type: process, command: [node, worker.js] }.",
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
		"Environment of launched workers, beside what they need to find the service. Values are not shown again: answers list the names.",
	examples: [{ MODEL: "small" }],
	"x-message": "must be an object of names to values.",
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

/**
 * All settings of an endpoint. `name` and `webhookSecret` have no default that is the same for all.
 */
export const ENDPOINT_SCHEMA = {
	type: "object",
	additionalProperties: false,
	properties: {
		name: { type: "string", maxLength: 191, description: "Name for people. By default the id." },
		workersMin: whole(0, 1000, {
			default: ENDPOINT_DEFAULTS.workersMin,
			description: "Workers that run even without jobs; at most workersMax.",
		}),
		workersMax: whole(0, 1000, {
			default: ENDPOINT_DEFAULTS.workersMax,
			description: "Most workers at once; with 0 jobs wait.",
		}),
		idleTimeout: whole(1, 3600, {
			"x-unit": "seconds",
			default: ENDPOINT_DEFAULTS.idleTimeout,
			description: "How long an idle worker above workersMin stays.",
		}),
		executionTimeoutMs: whole(5001, Number.MAX_SAFE_INTEGER, {
			"x-unit": "ms",
			default: ENDPOINT_DEFAULTS.executionTimeoutMs,
			description: "Longest run of a job that does not set policy.executionTimeout.",
		}),
		scalerType: {
			enum: ["QUEUE_DELAY", "REQUEST_COUNT"],
			default: ENDPOINT_DEFAULTS.scalerType,
			description: "What workers are added for: the wait of the oldest job, or the number of jobs.",
		},
		scalerValue: whole(1, 1_000_000, {
			default: ENDPOINT_DEFAULTS.scalerValue,
			description:
				"With QUEUE_DELAY the wait in seconds after which a worker is added; with REQUEST_COUNT the jobs per worker.",
		}),
		launcher: LAUNCHER,
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
				"How long a launched worker may take to its first call: models load before it. One that takes longer is ended and counts as crashed.",
		}),
		gpusPerWorker: whole(0, 64, {
			default: ENDPOINT_DEFAULTS.gpusPerWorker,
			description:
				"GPUs that each launched worker gets for itself, of those that the option gpus names. An idle worker of another endpoint makes room, but never a busy one.",
		}),
		webhookSecret: {
			type: "string",
			pattern:
				"^whsec_(?:(?:[A-Za-z0-9+/]{4}){8,20}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?|(?:[A-Za-z0-9+/]{4}){21}(?:[A-Za-z0-9+/]{2}==)?)$",
			writeOnly: true,
			description:
				"Signs the webhooks of this endpoint after the Standard Webhooks scheme. Not shown again.",
			"x-message": "must be whsec_ and the base64 of 24 to 64 random bytes.",
		},
	},
	"x-message": "must be an object of settings.",
} as const satisfies Schema;
