/** Jobs for operators, and bulk operations (D29, D39). */
import { BULK_SCHEMA } from "../core/jobs/bulk-request.ts";
import {
	LONGEST_SEARCH,
	MOST_READ,
	MOST_SEARCHED,
	MOST_SEARCHED_BYTES,
	PREVIEW_CHARACTERS,
	SEARCHED_CHARACTERS,
} from "../core/jobs/job-search.ts";
import { JOB_STATES } from "../core/jobs/job-states.ts";
import { TIMELINE_EVENTS } from "../core/jobs/timeline-events.ts";
import { REASON_CODES, STOP_STEPS } from "../core/jobs/timeline.ts";
import { LISTED_JOB, OUTPUT } from "./jobs.ts";
import { CURSOR, LIMIT, flag, moment, text, words } from "./definition/params.ts";
import { type Answer, type Body, route } from "./definition/route.ts";
import { COUNT, extend, FLAG, list, MOMENT, MS, object, pageOf, type Static, TEXT } from "./definition/schema.ts";
import { ENDED_WORKER } from "./workers.ts";

const RECORD = {
	submittedAt: MOMENT,
	"startedAt?": MOMENT,
	"endedAt?": MOMENT,
	"release?": {
		...COUNT,
		description: "Version of the release that launched the worker; absent for workers that were started elsewhere.",
	},
	expired: { ...FLAG, description: "Input, output and error were erased; the record remains." },
} as const;

export const JOB_SUMMARY = extend(LISTED_JOB, {
	...RECORD,
	"inputPreview?": {
		...TEXT,
		description: `The first ${PREVIEW_CHARACTERS} characters of the input; with preview=true.`,
	},
});
export type JobSummary = Static<typeof JOB_SUMMARY>;

const LISTED_PAGE = extend(pageOf("jobs", JOB_SUMMARY), {
	"searchedTo?": {
		...MOMENT,
		description: "Given with search while next is not null: jobs submitted before this moment were not searched yet.",
	},
	"matching?": object(
		{ count: COUNT, more: { ...FLAG, description: `Only the newest ${MOST_READ} jobs were counted.` } },
		{ description: "With count=true and without search: how many jobs match the filter." },
	),
});
export type JobList = Static<typeof LISTED_PAGE>;

const ATTEMPT = object({
	attempt: COUNT,
	workerId: TEXT,
	startedAt: MOMENT,
	"endedAt?": MOMENT,
	end: { enum: ["running", "completed", "failed", "lost", "released", "timed_out", "cancelled"] },
	open: { ...FLAG, description: "The worker may still be running it." },
	"workerEnd?": {
		...TEXT,
		description:
			"How the worker's process ended, such as: exit code 7; out of memory. Or why its start failed, or why it " +
			"returned the job.",
	},
	"returned?": {
		...FLAG,
		description: "The worker returned the job to the queue; an end of lost says that this counted as a loss.",
	},
	"continues?": {
		...COUNT,
		description:
			"Number of the lost attempt that this one continues: its worker posted before another worker got the job.",
	},
	"stop?": {
		enum: STOP_STEPS,
		description:
			"How a run that was to stop ended: confirmed by the worker, by the end of its process " +
			"(killed), or not known yet.",
	},
});
export type Attempt = Static<typeof ATTEMPT>;

const TIMELINE_EVENT = object({
	at: MOMENT,
	event: { enum: TIMELINE_EVENTS },
	message: TEXT,
	"attempt?": COUNT,
	"workerId?": TEXT,
});

export const JOB_DETAIL = extend(LISTED_JOB, {
	"output?": OUTPUT,
	...RECORD,
	queuedAt: { ...MOMENT, description: "When its current or last wait began." },
	"expiresAt?": MOMENT,
	"reason?": object(
		{
			code: { enum: REASON_CODES },
			message: TEXT,
			"since?": { ...MOMENT, description: "When the worker for which it waits was started." },
			"retryAt?": { ...MOMENT, description: "When the next worker is started after a crash." },
			"worker?": { ...ENDED_WORKER, description: "The last worker, if workers crash." },
		},
		{ description: "Why it waits, while it does." },
	),
	operation: { enum: ["run", "runsync", "openai"] },
	lowPriority: FLAG,
	"requestId?": { ...TEXT, description: "X-Request-Id of the submission, if its client sent one." },
	"trace?": object(
		{ id: TEXT, "url?": { ...TEXT, description: "Address of the trace, made by the setting console.traceUrl." } },
		{ description: "Its trace, if traces are exported or its client sent one. Its spans may not have been sampled." },
	),
	policy: object({ ttl: MS, executionTimeout: MS }),
	"webhook?": { ...TEXT, description: "Address of its webhook; a key with the scope read gets only scheme and host." },
	s3Config: { ...FLAG, description: "Whether the submission has one; it is not shown." },
	chunks: object(
		{ written: COUNT, delivered: COUNT },
		{ description: "Numbers of the next chunk to be written and of the next to be delivered." },
	),
	attempts: list(ATTEMPT),
	timeline: list(TIMELINE_EVENT),
	"input?": { type: "object", description: "The input, unchanged as it was submitted." },
});
export type JobDetail = Static<typeof JOB_DETAIL>;

export const STATUS_FILTER = words("status", JOB_STATES, "Only jobs in these states.");
export const WORKER_FILTER = text("worker", 128, "Only jobs whose current or last attempt is on this worker.");
export const FROM = moment("from", "Only jobs submitted at this moment or later.");
export const TO = moment("to", "Only jobs submitted before this moment.");
export const ID_FILTER = text("id", 100, "Only the job with this id.");
export const EXPIRED = flag("expired", "Includes jobs whose result has expired: their records are kept longer.");

export const SEARCH = text(
	"search",
	LONGEST_SEARCH,
	`Only jobs with this text in their id, worker, error or input: the first ${SEARCHED_CHARACTERS} ` +
		"characters of each, as they were sent, ASCII letters in any case. A member of the input is " +
		`found by "user":"alice". A page reads about ${MOST_SEARCHED} jobs or ` +
		`${MOST_SEARCHED_BYTES / 2 ** 20} MiB of inputs; follow next.`,
);
export const PREVIEW = flag("preview", "Adds the beginning of each input.");
export const WITH_COUNT = flag("count", "Adds the number of jobs that match the filter.");

const LIST_JOBS = route("listJobs", "GET /v1/endpoints/:endpoint/jobs", "read", {
	summary: "Jobs of the endpoint, most recently submitted first.",
	answer: {
		description: "A page of jobs.",
		schema: LISTED_PAGE,
	},
	query: [STATUS_FILTER, WORKER_FILTER, FROM, TO, ID_FILTER, SEARCH, EXPIRED, PREVIEW, WITH_COUNT, LIMIT, CURSOR],
});

const GET_JOB = route("getJob", "GET /v1/endpoints/:endpoint/jobs/:job", "read", {
	summary: "One job with its attempts, its timeline and why it waits.",
	answer: {
		description: "The job.",
		schema: JOB_DETAIL,
	},
});

export const BULK = object({
	matched: { ...COUNT, description: "Number of jobs of this batch that match." },
	done: { ...COUNT, description: "Number of jobs that were changed; 0 for a dry run." },
	more: { ...FLAG, description: "More jobs may match." },
	next: { type: ["string", "null"], description: "The cursor to continue with; null at the end." },
});
export type Bulk = Static<typeof BULK>;

const BULK_BODY = {
	description: "A filter of jobs; without one, all jobs of the endpoint that can be cancelled, or retried.",
	schema: BULK_SCHEMA,
	checked: true,
} as const satisfies Body;

const BULK_ANSWER = {
	description: "What was done in this batch.",
	schema: BULK,
} as const satisfies Answer;

export const CANCEL_JOBS = route("cancelJobs", "POST /v1/endpoints/:endpoint/jobs/cancel", "write", {
	summary: "Cancels a batch of the jobs that match a filter; continue with next.",
	answer: BULK_ANSWER,
	body: BULK_BODY,
	errors: ["bad_query"],
});

const RETRY_JOBS = route("retryJobs", "POST /v1/endpoints/:endpoint/jobs/retry", "write", {
	summary: "Queues a batch of the FAILED and TIMED_OUT jobs that match a filter again; continue with next.",
	answer: BULK_ANSWER,
	body: BULK_BODY,
	errors: ["bad_query", "queue_full"],
});

export const JOB_RECORD_ROUTES = [LIST_JOBS, GET_JOB, CANCEL_JOBS, RETRY_JOBS] as const;
