/**
 * What operations answer when all goes well, by the name that a row of ROUTES gives; with an
 * example each.
 */
import { COUNTERS, GAUGES } from "../../core/metrics/metric-buckets.ts";
import { all, object, page, ref } from "./shapes.ts";
import type { JsonSchema } from "./shapes.ts";

/** A success. */
export interface Answer {
	description: string;
	/** Absent where it is not JSON. */
	schema?: JsonSchema;
	example?: unknown;
	/** Its media type, where that is not JSON. */
	media?: string;
	/** It may also be a stream of server-sent events, which are this. */
	events?: string;
	/** It may also be 204, which means this. */
	empty?: string;
	/** Headers of its own. */
	headers?: Readonly<Record<string, string>>;
}

const ID = "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77";
const AT = "2026-01-31T12:00:00.000Z";
const STATUS_PAIR = { id: ID, status: "IN_QUEUE" };
const JOB = {
	id: ID,
	status: "COMPLETED",
	delayTime: 12,
	executionTime: 340,
	output: { greeting: "hello" },
	workerId: "hello-1a2b3c",
};
const { output: _, ...LISTED } = JOB;
const CHUNK = { output: "hel", metrics: {} };
const COUNTS = {
	jobs: { inQueue: 0, inProgress: 1, completed: 41, failed: 1, retried: 0 },
	workers: { idle: 0, initializing: 0, ready: 0, running: 1, throttled: 0, unhealthy: 0 },
};
const KEY = {
	id: "019b2f6e-7c1a-7000-8000-000000000001",
	name: "nightly batch",
	scopes: ["write"],
	createdAt: AT,
};
const TIMES = { submittedAt: AT, startedAt: AT, endedAt: AT, expired: false };
const WORKER = {
	id: "hello-1a2b3c",
	state: "running",
	launcher: "process",
	createdAt: AT,
	seenAt: AT,
	jobs: [ID],
};
const SERVER = {
	id: "0d8f6c1e2b7a4c55",
	url: "http://10.0.0.5:8080",
	startedAt: AT,
	self: true,
	leads: ["scale:hello", "sweep"],
};
const LINE = [3, null];
const PERCENTILES = { p50: LINE, p95: LINE, p99: LINE };
const METRICS = {
	step: 60_000,
	from: AT,
	series: {
		...Object.fromEntries([...COUNTERS, ...GAUGES].map((name) => [name, LINE])),
		delayMs: PERCENTILES,
		executionMs: PERCENTILES,
	},
};
const DELIVERY = {
	id: `msg_${ID}_0`,
	endpoint: "hello",
	job: ID,
	state: "delivered",
	url: "https://app.example.com/jobs",
	createdAt: AT,
	tries: [{ at: AT, tookMs: 35, status: 200 }],
};
const ENDPOINT = {
	id: "hello",
	name: "hello",
	workersMin: 0,
	workersMax: 3,
	idleTimeout: 5,
	executionTimeoutMs: 600_000,
	scalerType: "QUEUE_DELAY",
	scalerValue: 4,
	launcher: { type: "external" },
	env: [],
	limits: {},
	retention: { run: 1_800_000, runsync: 60_000, records: 604_800_000 },
	leaseMs: 20_000,
	stopGraceMs: 5000,
	initTimeoutMs: 600_000,
	gpusPerWorker: 0,
	webhookSecretSet: true,
	paused: false,
	createdAt: AT,
	...COUNTS,
};

const STREAM_HEADERS = {
	"Sluice-Job-Status": "State of the job; IN_PROGRESS while chunks remain.",
	"Sluice-Next-Offset": "Number of the next chunk.",
};
const STREAM_EVENTS =
	"a chunk each, numbered by its id, which Last-Event-ID resumes after; restart when the attempt was lost; at the end, end with the job";
const SDK_STREAM = object({
	status: { type: "string" },
	stream: { type: "array", items: ref("Chunk") },
});
const FLAG = { type: "boolean" } as const;
const TEXTS = { type: "array", items: { type: "string" } } as const;
const NO_POLL = "Nothing in 50 s: ask again.";

export const ANSWERS = {
	statusPair: {
		description: "Id and state of the job.",
		schema: ref("StatusPair"),
		example: STATUS_PAIR,
	},
	job: { description: "The job.", schema: ref("Job"), example: JOB },
	stream: {
		description:
			"The chunks, in order; [] when none is left. An object with status and stream for SDKs: a User-Agent that begins with RunPod-, an X-Request-ID that is the job id, and POST.",
		schema: { oneOf: [{ type: "array", items: ref("Chunk") }, SDK_STREAM] },
		example: [CHUNK],
		events: STREAM_EVENTS,
		headers: STREAM_HEADERS,
	},
	sdkStream: {
		description: "The chunks, in order, and the state of the job.",
		schema: SDK_STREAM,
		example: { status: "IN_PROGRESS", stream: [CHUNK] },
		events: STREAM_EVENTS,
		headers: STREAM_HEADERS,
	},
	purged: {
		description: "How many jobs were removed.",
		schema: ref("Purged"),
		example: { removed: 3, status: "completed" },
	},
	requests: {
		description: "A page of jobs.",
		schema: page("requests", "ListedJob"),
		example: { requests: [LISTED], next: null },
	},
	openai: {
		description:
			"The result as the worker produced it. A failure that the worker told in OpenAI's form has its own status.",
		schema: {},
		example: {
			object: "chat.completion",
			choices: [{ index: 0, message: { role: "assistant", content: "hello" } }],
		},
		events: "the worker's chunks as it produced them",
		headers: { "x-request-id": "Id of the job." },
	},
	health: { description: "Counts.", schema: ref("Health"), example: COUNTS },
	handedJob: {
		description: "The job.",
		schema: ref("HandedJob"),
		example: { id: ID, input: { prompt: "hello" } },
		empty: NO_POLL,
	},
	handedJobs: {
		description: "The jobs.",
		schema: { type: "array", items: ref("HandedJob"), minItems: 1 },
		example: [{ id: ID, input: { prompt: "hello" } }],
		empty: NO_POLL,
		headers: { "Sluice-Job-Done-Batch": "Most results in one post to job-done-batch." },
	},
	jobsToStop: {
		description: "Ids of the jobs.",
		schema: object({ jobsToStop: TEXTS }),
		example: { jobsToStop: [ID] },
		empty: NO_POLL,
	},
	posted: {
		description: "It was taken. A result is on disk.",
		schema: { type: "object", maxProperties: 0 },
		example: {},
	},
	statuses: {
		description:
			"The status that each line would have got by itself, in their order: 200 when it was taken.",
		schema: { type: "array", items: { type: "integer" } },
		example: [200, 200],
	},
	endpoints: {
		description: "The endpoints.",
		schema: all("endpoints", "Endpoint"),
		example: { endpoints: [ENDPOINT] },
	},
	endpoint: { description: "The endpoint.", schema: ref("Endpoint"), example: ENDPOINT },
	workerEnv: {
		description: "Variables by name.",
		schema: object({ env: { type: "object", additionalProperties: { type: "string" } } }),
		example: { env: { RUNPOD_ENDPOINT_ID: "hello", RUNPOD_POD_ID: "hello-1a2b3c" } },
	},
	webhookSecret: {
		description: "The secret, told this once.",
		schema: object({ webhookSecret: { type: "string" } }),
		example: { webhookSecret: "whsec_…" },
	},
	workers: {
		description: "The workers.",
		schema: all("workers", "Worker"),
		example: { workers: [WORKER] },
	},
	logs: {
		description:
			"An object a line, each {text, position}, with job and level where the worker's SDK tells them. A very long line comes in pieces.",
		media: "application/x-ndjson",
		events:
			"a line each, numbered by its position, which Last-Event-ID resumes after; at the end, end",
	},
	stopping: {
		description: "It is on its way out.",
		schema: { type: "object", maxProperties: 0 },
		example: {},
	},
	metrics: {
		description: "A value for each step from the first on, null where nothing is known.",
		schema: ref("Metrics"),
		example: METRICS,
	},
	bulk: {
		description: "What came of this portion.",
		schema: ref("Bulk"),
		example: { matched: 1000, done: 1000, more: true, next: "b2s" },
	},
	feed: {
		description: "Never ends by itself.",
		events:
			"overview with {at, endpoints}: id, name, paused, queue and workers as in /health, perMinute (ends of the last 60 s by outcome) and spark (ends in each of the last 30 minutes); a comment when nothing has changed for 15 s",
	},
	jobs: {
		description: "A page of jobs.",
		schema: page("jobs", "JobSummary"),
		example: { jobs: [{ ...LISTED, ...TIMES }], next: null },
	},
	toldJob: {
		description: "The job.",
		schema: ref("JobDetail"),
		example: {
			...JOB,
			...TIMES,
			queuedAt: AT,
			expiresAt: AT,
			operation: "run",
			lowPriority: false,
			policy: { ttl: 86_400_000, executionTimeout: 600_000 },
			s3Config: false,
			chunks: { written: 0, delivered: 0 },
			attempts: [
				{
					attempt: 1,
					end: "completed",
					open: false,
					workerId: "hello-1a2b3c",
					startedAt: AT,
					endedAt: AT,
				},
			],
			timeline: [{ at: AT, event: "submitted", message: "The job was submitted." }],
			input: { prompt: "hello" },
		},
	},
	deliveries: {
		description: "A page of deliveries.",
		schema: page("deliveries", "Delivery"),
		example: { deliveries: [DELIVERY], next: null },
	},
	delivery: {
		description: "The delivery.",
		schema: ref("Delivery"),
		example: { ...DELIVERY, state: "pending", dueAt: AT },
	},
	keys: { description: "The keys.", schema: all("keys", "Key"), example: { keys: [KEY] } },
	newKey: {
		description: "The key, told this once.",
		schema: ref("NewKey"),
		example: { ...KEY, key: "sluice_…" },
	},
	key: { description: "The key as it was.", schema: ref("Key"), example: KEY },
	servers: {
		description: "The servers; none where only this one can open the store.",
		schema: all("servers", "Server"),
		example: { servers: [SERVER] },
	},
	consoleLink: {
		description: "The link: what follows the address of the service.",
		schema: object({
			path: { type: "string" },
			expiresAt: { type: "string", format: "date-time" },
		}),
		example: { path: "/console/link/…", expiresAt: AT },
	},
	session: {
		description: "The holder of the key, with the cookie after a sign-in.",
		schema: object({ principal: ref("Principal") }),
		example: { principal: { name: KEY.name, scopes: KEY.scopes } },
	},
	signedOut: {
		description: "Signed out.",
		schema: { type: "object", maxProperties: 0 },
		example: {},
	},
	toConsole: {
		description: "To the console.",
		headers: { Location: "Address of the console, relative to this one." },
	},
	consoleFile: {
		description: "The file; 304 for who has it; 303 to the console where the path has no dot.",
		media: "application/octet-stream",
	},
	alive: { description: "Alive.", schema: object({ ok: FLAG }), example: { ok: true } },
	ready: { description: "Ready.", schema: object({ ready: FLAG }), example: { ready: true } },
	exposition: {
		description:
			"Families of samples in the text format of Prometheus. Jobs and workers are those of all servers; what was counted is of the one that answers, since its start.",
		media: "text/plain; version=0.0.4; charset=utf-8",
	},
	openapi: {
		description: "This document.",
		schema: object({
			openapi: { const: "3.1.1" },
			servers: { type: "array" },
			info: { type: "object" },
			tags: { type: "array" },
			paths: { type: "object" },
			components: { type: "object" },
		}),
	},
	docs: { description: "A page to read.", media: "text/html; charset=utf-8" },
} as const satisfies Record<string, Answer>;

export type AnswerName = keyof typeof ANSWERS;

/** The answer of that name. */
export function answerOf(name: AnswerName): Answer {
	return ANSWERS[name];
}
