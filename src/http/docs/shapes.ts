/**
 * What answers are made of, as JSON Schemas with names: `components/schemas` of `/openapi.json`.
 * Real answers are held against them in `test/spec/openapi.test.ts`.
 */
import { DELIVERY_STATES } from "../../core/delivery.ts";
import { ENDPOINT_ID } from "../../core/endpoint-schema.ts";
import { KEY_REQUEST_SCHEMA, SCOPES } from "../../core/key-request.ts";
import { JOB_STATES } from "../../core/job-states.ts";
import type { Schema } from "../../core/schema.ts";
import { COUNTERS, GAUGES, STEPS } from "../../core/metrics/metric-buckets.ts";
import { TIMELINE_EVENTS } from "../../core/timeline-events.ts";
import { REASON_CODES, STOP_STEPS } from "../../core/timeline.ts";
import { ENDPOINT_SCHEMA } from "../../endpoint-settings.ts";

/** Any JSON Schema 2020-12: those that check what comes in, and wider ones. */
export type JsonSchema = Schema | Readonly<Record<string, unknown>>;

const COUNT: JsonSchema = { type: "integer", minimum: 0 };
const MS: JsonSchema = { type: "integer", minimum: 0, "x-unit": "ms" };
const TEXT: JsonSchema = { type: "string" };
const FLAG: JsonSchema = { type: "boolean" };
const MOMENT: JsonSchema = { type: "string", format: "date-time" };
const JOB_ID: JsonSchema = {
	type: "string",
	description: "Id of the job; begins with sync- for /runsync.",
};
const STATE: JsonSchema = { enum: JOB_STATES, description: "State of the job." };
const NEXT: JsonSchema = {
	type: ["string", "null"],
	description: "The cursor of the page after this one; null on the last.",
};

/**
 * An object of these members, of which `optional` may be missing. Others may come in later
 * versions.
 */
export function object(
	properties: Readonly<Record<string, JsonSchema>>,
	optional: readonly string[] = [],
	description?: string,
): JsonSchema {
	return {
		type: "object",
		required: Object.keys(properties).filter((name) => !optional.includes(name)),
		properties,
		...(description === undefined ? {} : { description }),
	};
}

function list(items: JsonSchema): JsonSchema {
	return { type: "array", items };
}

/** The place of a shape in the document. */
export function ref(name: ShapeName): JsonSchema {
	return { $ref: `#/components/schemas/${name}` };
}

function counts(...names: string[]): JsonSchema {
	return object(Object.fromEntries(names.map((name) => [name, COUNT])));
}

const JOB_COUNTS = counts("completed", "failed", "inProgress", "inQueue", "retried");
const WORKER_COUNTS = counts("idle", "initializing", "ready", "running", "throttled", "unhealthy");

/** Members of the job object without its output (D6). */
const JOB = {
	id: JOB_ID,
	status: STATE,
	delayTime: {
		...MS,
		description: "Time of the last wait in the queue; grows while the job waits.",
	},
	executionTime: { ...MS, description: "Time of the last attempt; grows while it runs, 0 before." },
	error: { ...TEXT, description: "Why the job has failed, ran out of time or was removed." },
	workerId: { ...TEXT, description: "The worker of the last attempt." },
	retries: {
		type: "integer",
		minimum: 1,
		description: "Returns to the queue, by a loss or by /retry.",
	},
};
const JOB_OPTIONAL = ["error", "workerId", "retries"];

const OUTPUT: JsonSchema = {
	description:
		"The result as the worker produced it, byte for byte; while the job runs, its latest progress.",
};

/** Moments of a job in lists of `/v1`. */
const TIMES = {
	submittedAt: MOMENT,
	startedAt: MOMENT,
	endedAt: MOMENT,
	expired: { ...FLAG, description: "Input, output and error were erased; the record is left." },
};

const LINE: JsonSchema = list({ type: ["integer", "null"] });
const PERCENTILES = object({ p50: LINE, p95: LINE, p99: LINE });

const KEY = {
	id: TEXT,
	name: KEY_REQUEST_SCHEMA.properties.name,
	scopes: list({ enum: SCOPES }),
	endpoints: {
		...list(ENDPOINT_ID),
		description: "The only endpoints it is good for; absent: all.",
	},
	createdAt: MOMENT,
	lastUsedAt: MOMENT,
};
const KEY_OPTIONAL = ["endpoints", "lastUsedAt"];

const { env: _env, webhookSecret: _secret, ...SHOWN_SETTINGS } = ENDPOINT_SCHEMA.properties;

export const SHAPES = {
	StatusPair: object({ id: JOB_ID, status: STATE }),
	Job: object(
		{ ...JOB, output: OUTPUT },
		[...JOB_OPTIONAL, "output"],
		"A job (spec 2.2). All numbers are whole.",
	),
	Chunk: object({
		output: { description: "Part of the output, as the worker yielded it." },
		metrics: { type: "object", description: "What the worker measured; {} if nothing." },
	}),
	Purged: object({ removed: COUNT, status: { const: "completed" } }),
	Health: object(
		{ jobs: JOB_COUNTS, workers: WORKER_COUNTS },
		[],
		"completed, failed and retried are totals since the endpoint was made; the others are the present.",
	),
	ListedJob: object(JOB, JOB_OPTIONAL),
	Error: object(
		{
			error: { ...TEXT, description: "What was wrong, the bound, and what to do." },
			code: { ...TEXT, description: "The same for machines." },
			details: list(
				object({
					field: { ...TEXT, description: "Path of the field, such as policy.ttl." },
					message: TEXT,
				}),
			),
		},
		["details"],
	),
	OpenAIError: object(
		{
			error: object({
				message: TEXT,
				type: TEXT,
				param: { type: ["string", "null"] },
				code: { type: ["string", "integer", "null"] },
			}),
		},
		[],
		"Errors under /openai have OpenAI's form.",
	),
	HandedJob: object({ id: JOB_ID, input: { type: "object" }, s3Config: { type: "object" } }, [
		"s3Config",
	]),
	Endpoint: object({
		id: ENDPOINT_ID,
		...SHOWN_SETTINGS,
		env: { ...list(TEXT), description: "Names of the variables; values are not shown." },
		webhookSecretSet: FLAG,
		paused: { ...FLAG, description: "Jobs are accepted and queued, not handed out." },
		createdAt: MOMENT,
		jobs: JOB_COUNTS,
		workers: WORKER_COUNTS,
	}),
	Worker: object(
		{
			id: TEXT,
			state: { enum: ["initializing", "idle", "running", "unhealthy", "stopping"] },
			launcher: { ...TEXT, description: "Who started it; external: somebody else." },
			createdAt: MOMENT,
			seenAt: { ...MOMENT, description: "Its last call." },
			jobs: { ...list(TEXT), description: "Ids of the jobs it holds." },
			gpus: { ...list(COUNT), description: "Numbers of the machine's GPUs that are its own." },
			version: { ...TEXT, description: "Version of its SDK, once it has pinged." },
			warning: { ...TEXT, description: "What is known against that version." },
		},
		["gpus", "version", "warning"],
	),
	Server: object({
		id: TEXT,
		url: {
			...TEXT,
			description: "Where it is reached by the workers that it launches, and by the other servers.",
		},
		startedAt: MOMENT,
		self: { ...FLAG, description: "It is the one that answers." },
		leads: {
			...list(TEXT),
			description:
				"What it does for all: sweep, removal, deliveries; scale: and an endpoint whose workers it launches.",
		},
	}),
	Metrics: object(
		{
			step: { enum: STEPS, "x-unit": "ms" },
			from: { ...MOMENT, description: "Beginning of the first step." },
			series: object({
				...Object.fromEntries([...COUNTERS, ...GAUGES].map((name) => [name, LINE])),
				delayMs: PERCENTILES,
				executionMs: PERCENTILES,
			}),
		},
		[],
		"Counts of what happened in each step; of queued, running and workers the most that was seen. delayMs: waits of the jobs handed out; executionMs: runs whose end the worker told; both within 5 %.",
	),
	Bulk: object({
		matched: { ...COUNT, description: "Jobs that fit, of those looked at." },
		done: { ...COUNT, description: "Those that were changed; 0 for a dry run." },
		more: { ...FLAG, description: "There may be more that fit." },
		next: { type: ["string", "null"], description: "The cursor to go on with; null at the end." },
	}),
	JobSummary: object({ ...JOB, ...TIMES }, [...JOB_OPTIONAL, "startedAt", "endedAt"]),
	JobDetail: object(
		{
			...JOB,
			output: OUTPUT,
			...TIMES,
			queuedAt: { ...MOMENT, description: "When its present or last wait began." },
			expiresAt: MOMENT,
			reason: {
				...object({ code: { enum: REASON_CODES }, message: TEXT }),
				description: "Why it waits; only while it does.",
			},
			operation: { enum: ["run", "runsync", "openai"] },
			lowPriority: FLAG,
			policy: object({ ttl: MS, executionTimeout: MS }),
			webhook: { ...TEXT, description: "Only scheme and host for a key with the scope read." },
			s3Config: { ...FLAG, description: "Whether there is one; it is not shown." },
			chunks: {
				...object({ written: COUNT, delivered: COUNT }),
				description: "Numbers of the next chunk to be written and of the next to be delivered.",
			},
			attempts: list(
				object(
					{
						attempt: COUNT,
						workerId: TEXT,
						startedAt: MOMENT,
						endedAt: MOMENT,
						end: {
							enum: [
								"running",
								"completed",
								"failed",
								"lost",
								"released",
								"timed_out",
								"cancelled",
							],
						},
						open: { ...FLAG, description: "The worker may still be at it." },
						stop: {
							enum: STOP_STEPS,
							description:
								"What ended a run that was to stop: the worker's word, the end of its process, or nothing yet that is known of.",
						},
					},
					["endedAt", "stop"],
				),
			),
			timeline: list(
				object(
					{
						at: MOMENT,
						event: { enum: TIMELINE_EVENTS },
						message: TEXT,
						attempt: COUNT,
						workerId: TEXT,
					},
					["attempt", "workerId"],
				),
			),
			input: { type: "object", description: "The input as it came, byte for byte." },
		},
		[...JOB_OPTIONAL, "output", "startedAt", "endedAt", "expiresAt", "reason", "webhook", "input"],
	),
	Delivery: object(
		{
			id: TEXT,
			endpoint: TEXT,
			job: TEXT,
			state: { enum: DELIVERY_STATES, description: "pending while a try is due or under way." },
			url: { ...TEXT, description: "Only scheme and host for a key with the scope read." },
			createdAt: MOMENT,
			dueAt: { ...MOMENT, description: "When the next try is due." },
			tries: list(
				object({ at: MOMENT, tookMs: MS, status: { type: "integer" }, error: TEXT }, [
					"status",
					"error",
				]),
			),
		},
		["dueAt"],
	),
	Key: object(KEY, KEY_OPTIONAL),
	Principal: object(
		{ name: KEY.name, scopes: KEY.scopes, endpoints: KEY.endpoints },
		["endpoints"],
		"Who is signed in: the holder of a key, as the key is now.",
	),
	NewKey: object(
		{ ...KEY, key: { ...TEXT, description: "The key itself, told this once." } },
		KEY_OPTIONAL,
	),
} as const satisfies Record<string, JsonSchema>;

export type ShapeName = keyof typeof SHAPES;

/** A page of a list under `name`. */
export function page(name: string, item: ShapeName): JsonSchema {
	return object({ [name]: list(ref(item)), next: NEXT });
}

/** A whole list under `name`. */
export function all(name: string, item: ShapeName): JsonSchema {
	return object({ [name]: list(ref(item)) });
}
