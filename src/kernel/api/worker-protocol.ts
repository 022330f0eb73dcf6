/** Operations of RunPod's worker SDK (protocol B). */
import { RETURN } from "../core/jobs/job-return.ts";
import { LINES_BODY_LIMIT, LINES_TOGETHER, RESULT_LIMIT } from "../core/jobs/report.ts";
import { JOB_ID } from "./jobs.ts";
import type { ParamDescription } from "./definition/params.ts";
import { emptyAnswer, route } from "./definition/route.ts";
import { COUNT, list, object, TEXT, TEXTS } from "./definition/schema.ts";

export const BATCH_LIMIT = 1000;

export const DISPATCHED_JOB = object({
	id: JOB_ID,
	input: { type: "object" },
	"s3Config?": { type: "object" },
	"run?": { ...COUNT, description: "With the header Sluice-Run: 1. The number of the run, raised by /retry only." },
	"attempt?": { ...COUNT, description: "With the header Sluice-Run: 1. The number of the attempt." },
});

const RETURN_HEADER = { "Sluice-Job-Return": "1: job-done takes a return." };

const NO_JOB = "No job arrived within 50 s: poll again.";
const ACCEPTED = emptyAnswer("It was accepted. A result is durable.");

/** Parsed leniently: a worker could not act on a refusal. */
const IN_PROGRESS: ParamDescription = {
	name: "job_in_progress",
	description: "0: the worker holds no job, so that jobs sent to it before this call count as lost.",
	schema: COUNT,
};

const JOB_TAKE = route("jobTake", "GET /worker/:endpoint/job-take/:worker", "worker", {
	summary: "One job for the worker, held until there is one.",
	answer: { description: "The job.", schema: DISPATCHED_JOB, empty: NO_JOB, headers: RETURN_HEADER },
	query: [IN_PROGRESS],
	poll: true,
});

const JOB_TAKE_BATCH = route("jobTakeBatch", "GET /worker/:endpoint/job-take-batch/:worker", "worker", {
	summary: "Several jobs for the worker, held until there is one.",
	answer: {
		description: "The jobs.",
		schema: { ...list(DISPATCHED_JOB), minItems: 1 },
		empty: NO_JOB,
		headers: { ...RETURN_HEADER, "Sluice-Job-Done-Batch": "Maximum number of results in one post to job-done-batch." },
	},
	query: [
		{
			name: "batch_size",
			description: "Maximum number of jobs of the batch.",
			schema: { type: "integer", minimum: 1, maximum: BATCH_LIMIT, default: 1 },
		},
		IN_PROGRESS,
	],
	poll: true,
});

export const JOB_STOP = route("jobStop", "GET /worker/:endpoint/job-stop/:worker", "worker", {
	summary: "Jobs that the worker must stop, held until there is one.",
	answer: {
		description: "Ids of the jobs.",
		schema: object({ jobsToStop: TEXTS }),
		empty: NO_JOB,
	},
	poll: true,
});

const JOB_DONE = route("jobDone", "POST /worker/:endpoint/job-done/:worker/:job", "worker", {
	summary: "The result, the failure or the progress of a job.",
	answer: ACCEPTED,
	body: {
		description:
			"output: the result. With status IN_PROGRESS it is progress; with an error the job has " +
			"failed; with a return it goes back into the queue. stopPod: restart the worker.",
		schema: {
			type: "object",
			properties: { output: {}, error: {}, status: TEXT, stopPod: { type: "boolean" }, return: RETURN },
		},
		neverRefused: true,
	},
	// Only a return that is not valid (D54).
	errors: ["bad_request"],
	maxBody: RESULT_LIMIT,
});

export const JOB_DONE_BATCH = route("jobDoneBatch", "POST /worker/:endpoint/job-done-batch/:worker", "worker", {
	summary: "Results of several jobs, one per line; for workers that got the maximum number from job-take-batch.",
	answer: {
		description: "For each line, in order, the status that a post of its own would have got: 200 when it was accepted.",
		schema: list({ type: "integer" }),
	},
	body: {
		description:
			`Up to ${LINES_TOGETHER} lines, each a JSON object without line breaks: the body of a ` +
			"job-done, and the job's id.",
		schema: TEXT,
		media: "application/x-ndjson",
		checked: true,
	},
	maxBody: LINES_BODY_LIMIT,
});

const FIRST_CHUNK = {
	name: "chunk",
	description: "Number of the post's first chunk among those of its attempt, by which a repeat is recognised.",
	schema: COUNT,
} as const;

const ATTEMPT = {
	name: "attempt",
	description: "The attempt, as it was handed out with Sluice-Run: a post about an earlier one changes nothing.",
	schema: COUNT,
} as const;

const JOB_STREAM = route("jobStream", "POST /worker/:endpoint/job-stream/:worker/:job", "worker", {
	summary: "A chunk of the output of a job.",
	answer: ACCEPTED,
	body: {
		description: "A part of the output.",
		schema: { type: "object", properties: { output: {}, metrics: { type: "object" } } },
		neverRefused: true,
	},
	maxBody: RESULT_LIMIT,
	query: [FIRST_CHUNK, ATTEMPT],
});

const JOB_STREAM_BATCH = route("jobStreamBatch", "POST /worker/:endpoint/job-stream-batch/:worker/:job", "worker", {
	summary: "Several chunks of the output of a job, stored together.",
	answer: ACCEPTED,
	body: {
		description: `Up to ${LINES_TOGETHER} lines, each the body of a job-stream without line breaks.`,
		schema: TEXT,
		media: "application/x-ndjson",
		checked: true,
	},
	maxBody: LINES_BODY_LIMIT,
	query: [FIRST_CHUNK, ATTEMPT],
});

const PING = route("ping", "GET /worker/:endpoint/ping/:worker", "worker", {
	frequent: true,
	summary: "A heartbeat of the worker and of the jobs it names.",
	answer: ACCEPTED,
	query: [
		{
			name: "job_id",
			description: "Ids of the jobs it holds, separated by commas; each lease is renewed.",
			schema: TEXT,
		},
		{
			name: "runpod_version",
			description: "Version of the worker's SDK, at most 64 characters.",
			schema: TEXT,
		},
		{ name: "status", description: "unhealthy: the worker failed a check.", schema: TEXT },
		{ name: "check", description: "Name of the check that it failed.", schema: TEXT },
		{
			name: "reason",
			description: "Why it failed the check; at most 500 characters together with check.",
			schema: TEXT,
		},
	],
});

export const WORKER_ROUTES = [
	JOB_TAKE,
	JOB_TAKE_BATCH,
	JOB_STOP,
	JOB_DONE,
	JOB_DONE_BATCH,
	JOB_STREAM,
	JOB_STREAM_BATCH,
	PING,
] as const;
