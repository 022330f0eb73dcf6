/** Operations for clients (spec 4), under `/v2` and `/sdk/v2`. */
import { JOB_STATES } from "../core/jobs/job-states.ts";
import { SUBMISSION_SCHEMA } from "../core/jobs/submission.ts";
import { CURSOR, LIMIT, wait, whole, word } from "./definition/params.ts";
import { type Answer, MB, route, type RouteDefinition, underSdk } from "./definition/route.ts";
import { COUNT, extend, list, MS, object, pageOf, type Static, TEXT } from "./definition/schema.ts";

export const JOB_ID = {
	type: "string",
	description: "Id of the job; begins with sync- for /runsync.",
} as const;
const STATE = { enum: JOB_STATES, description: "State of the job." } as const;

export const STATUS_PAIR = object({ id: JOB_ID, status: STATE });

/** The job object without its output (D6). */
export const LISTED_JOB = object({
	id: JOB_ID,
	status: STATE,
	delayTime: { ...MS, description: "Duration of the last wait in the queue; grows while the job waits." },
	executionTime: { ...MS, description: "Duration of the last attempt; grows while it runs, 0 before." },
	"error?": { ...TEXT, description: "Why the job failed, timed out or was removed." },
	"workerId?": { ...TEXT, description: "The worker of the last attempt." },
	"retries?": {
		type: "integer",
		minimum: 1,
		description: "How often the job returned to the queue, after a loss or by /retry.",
	},
});

export const OUTPUT = {
	description: "The result, unchanged as the worker produced it; while the job runs, its latest progress.",
} as const;

export const JOB = extend(LISTED_JOB, { "output?": OUTPUT }, { description: "A job. All numbers are whole." });
export type Job = Static<typeof JOB>;

export const CHUNK = object({
	output: { description: "Part of the output, as the worker yielded it." },
	metrics: { type: "object", description: "What the worker measured; {} if it measured nothing." },
});

export const PURGED = object({ removed: COUNT, status: { const: "completed" } });

export const JOB_COUNTS = object({
	completed: COUNT,
	failed: COUNT,
	inProgress: COUNT,
	inQueue: COUNT,
	retried: COUNT,
});
export type JobCounts = Static<typeof JOB_COUNTS>;

export const WORKER_COUNTS = object({
	idle: COUNT,
	initializing: COUNT,
	ready: COUNT,
	running: COUNT,
	throttled: COUNT,
	unhealthy: COUNT,
});
export type WorkerCounts = Static<typeof WORKER_COUNTS>;

export const HEALTH = object(
	{ jobs: JOB_COUNTS, workers: WORKER_COUNTS },
	{ description: "completed, failed and retried are totals since the endpoint was created; the others are current." },
);

const SUBMISSION = {
	body: {
		description: "The job. Read as JSON whatever the Content-Type; other members are ignored, null means absent.",
		schema: SUBMISSION_SCHEMA,
		checked: true,
	},
	errors: ["queue_full", "quota_full", "gpu_quota_used", "store_full", "idempotency_reused", "idempotency_expired"],
} as const;

const STATUS_ANSWER = {
	description: "Id and state of the job.",
	schema: STATUS_PAIR,
} as const satisfies Answer;

const JOB_ANSWER = { description: "The job.", schema: JOB } as const satisfies Answer;

const SDK_STREAM = object({ status: TEXT, stream: list(CHUNK) });

const STREAM_FORMS = {
	events:
		"one event per chunk, with its number as id, which Last-Event-ID resumes after; restart when " +
		"the attempt was lost; end with the job at the end",
	headers: {
		"Sluice-Job-Status": "State of the job; IN_PROGRESS while chunks remain. JSON answers only.",
		"Sluice-Next-Offset": "Number of the next chunk. JSON answers only.",
	},
} as const;

/** SDKs always get the object (D7). */
const SDK_STREAM_ANSWER = {
	description: "The chunks, in order, and the state of the job.",
	schema: SDK_STREAM,
	...STREAM_FORMS,
} as const satisfies Answer;

/** Shortens the retention (D9). */
export const TTL = whole("ttl", {
	minimum: 0,
	maximum: Number.MAX_SAFE_INTEGER,
	description:
		"Keep the result for at most this long after the end of the job, ms. Only shortens; if that " +
		"time has already passed, this answer is the last. Needs a key with the scope write.",
});

/** The cursor is unchanged (D7 Delivery). */
export const OFFSET = whole("offset", {
	minimum: 0,
	maximum: Number.MAX_SAFE_INTEGER,
	description:
		"Read from the chunk with this number, as often as needed; without it each chunk is delivered " +
		"once, and a key with the scope read gets all chunks, as with offset=0.",
});

export const SYNC_WAIT = wait(90_000);
/** The Python SDK gives up after 10 s. */
export const STREAM_WAIT = wait(5000);
export const STATUS_FILTER = word("status", JOB_STATES, "Only jobs in this state.");

const RUN = route("run", "POST /v2/:endpoint/run", "write", {
	ownLimits: true,
	summary: "Queues a job and returns its id.",
	answer: STATUS_ANSWER,
	...SUBMISSION,
	maxBody: 10 * MB,
	limit: "run",
});

export const RUNSYNC = route("runsync", "POST /v2/:endpoint/runsync", "write", {
	ownLimits: true,
	summary: "Queues a job and waits for its result.",
	answer: JOB_ANSWER,
	...SUBMISSION,
	maxBody: 20 * MB,
	query: [SYNC_WAIT],
	limit: "runsync",
});

const STATUS = route("status", "GET POST /v2/:endpoint/status/:job", "read", {
	ownLimits: true,
	summary: "Returns the current state of the job, with its result once it has ended.",
	answer: JOB_ANSWER,
	query: [TTL],
	limit: "status",
});

const STATUS_SYNC = route("statusSync", "GET POST /v2/:endpoint/status-sync/:job", "read", {
	ownLimits: true,
	summary: "The job once it has ended, or as it is when the wait is over.",
	answer: JOB_ANSWER,
	query: [SYNC_WAIT],
	limit: "status-sync",
});

const STREAM = route("stream", "GET POST /v2/:endpoint/stream/:job", "read", {
	ownLimits: true,
	summary: "The chunks of a job that were not delivered yet, or those from an offset on.",
	answer: {
		description:
			"The chunks, in order; [] when none is left. SDKs get an object with status and stream: " +
			"those with a User-Agent that begins with RunPod-, an X-Request-ID that is the job id, or " +
			"POST.",
		schema: { oneOf: [list(CHUNK), SDK_STREAM] },
		...STREAM_FORMS,
	},
	query: [STREAM_WAIT, OFFSET],
	limit: "stream",
});

export const CANCEL = route("cancel", "POST /v2/:endpoint/cancel/:job", "write", {
	ownLimits: true,
	summary: "Cancels a job that waits or runs.",
	answer: STATUS_ANSWER,
	limit: "cancel",
});

export const RETRY = route("retry", "POST /v2/:endpoint/retry/:job", "write", {
	ownLimits: true,
	summary: "Queues a FAILED or TIMED_OUT job again, under the same id.",
	answer: STATUS_ANSWER,
	errors: ["job_not_retryable", "queue_full"],
});

export const PURGE_QUEUE = route("purgeQueue", "POST /v2/:endpoint/purge-queue", "write", {
	summary: "Removes every waiting job of the endpoint.",
	answer: {
		description: "How many jobs were removed.",
		schema: PURGED,
	},
	limit: "purge-queue",
});

const REQUESTS = route("requests", "GET /v2/:endpoint/requests", "read", {
	summary: "Jobs of the endpoint, most recently submitted first.",
	answer: {
		description: "A page of jobs.",
		schema: pageOf("requests", LISTED_JOB),
	},
	query: [STATUS_FILTER, LIMIT, CURSOR],
	limit: "requests",
});

export const GET_HEALTH = route("health", "GET /v2/:endpoint/health", "read", {
	ownLimits: true,
	summary: "Counts of jobs and workers of the endpoint.",
	answer: { description: "Counts.", schema: HEALTH },
});

export const CLIENT_ROUTES = [
	RUN,
	RUNSYNC,
	STATUS,
	STATUS_SYNC,
	STREAM,
	CANCEL,
	RETRY,
	PURGE_QUEUE,
	REQUESTS,
	GET_HEALTH,
] as const;

/** Only `/stream` answers differently under `/sdk` (D7). */
export function sdkRoute(definition: RouteDefinition): RouteDefinition {
	const twin = underSdk(definition);
	return definition.name === "stream" ? { ...twin, answer: SDK_STREAM_ANSWER } : twin;
}
