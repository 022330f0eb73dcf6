/** `/v1/endpoints/{endpoint}/jobs`: jobs as operators see them (D29, D39). */
import { ApiError } from "../../core/errors.ts";
import type { Job } from "../../core/job.ts";
import { JOB_STATES } from "../../core/job-states.ts";
import { expiresAt, timelineOf } from "../../core/timeline-events.ts";
import { jobView } from "../../core/job-view.ts";
import type { JobResult } from "../../core/job-view.ts";
import { may } from "../../engine/access/keys.ts";
import type { JobDetails } from "../../engine/jobs/job-details.ts";
import type { JobFilter } from "../../store/store.ts";
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { CURSOR, PAGE } from "../client/client-api.ts";
import { moment as momentParam, text, valueOf, words, yes } from "../params.ts";
import { json } from "../reply.ts";
import { moment } from "./time.ts";
import { shownUrl } from "./webhook-url.ts";

/** Filters of the list. */
export const STATUSES = words("status", JOB_STATES, "Only jobs in these states.");
export const WORKER = text(
	"worker",
	128,
	"Only jobs whose present or last attempt is on this worker.",
);
export const FROM = momentParam("from", "Only jobs submitted at this moment or later.");
export const TO = momentParam("to", "Only jobs submitted before this moment.");
export const ID = text("id", 100, "Only the job with this id.");
export const EXPIRED = yes(
	"expired",
	"Also jobs whose result has expired: their records are kept longer.",
);

/**
 * GET /v1/endpoints/{endpoint}/jobs: `{jobs, next}`, the last submitted first; job objects without
 * output, with their times.
 */
export async function list(call: Call): Promise<void> {
	const { engine, params } = call;
	const filter: JobFilter = {
		states: valueOf(call, STATUSES),
		worker: valueOf(call, WORKER),
		from: valueOf(call, FROM),
		to: valueOf(call, TO),
	};
	const [id, erased, cursor, limit = 20] = [
		valueOf(call, ID),
		valueOf(call, EXPIRED) ?? false,
		valueOf(call, CURSOR),
		valueOf(call, PAGE),
	];
	const { jobs, next } =
		id === undefined
			? await engine.jobs.list({ endpoint: params.endpoint, filter, erased, cursor, limit })
			: { jobs: await one(call, { id, filter, erased }) };
	const now = engine.now();
	json(
		call.res,
		`{"jobs":[${jobs.map((each) => joined(jobView({ ...each, output: undefined }, now), times(each.job))).join(",")}],"next":${JSON.stringify(next ?? null)}}`,
	);
}

/** The job with this id, if there is one that fits. */
async function one(
	{ engine, params }: Call,
	{ id, filter, erased }: { id: string; filter: JobFilter; erased: boolean },
): Promise<JobResult[]> {
	try {
		const found = await engine.jobs.details({ endpoint: params.endpoint, id });
		return fits(found.job, filter) && (erased || !found.job.erased) ? [found] : [];
	} catch (error) {
		if (error instanceof ApiError && error.code === "job_not_found") return [];
		throw error;
	}
}

function fits({ state, worker, submittedAt }: Job, filter: JobFilter): boolean {
	const { states, from = 0, to = Infinity } = filter;
	return (
		(states?.includes(state) ?? true) &&
		(filter.worker === undefined || filter.worker === worker) &&
		submittedAt >= from &&
		submittedAt < to
	);
}

/**
 * GET /v1/endpoints/{endpoint}/jobs/{job}: all of a job that may be told, expired or not; `input`
 * and `output` as they came (D5).
 */
export async function get(call: Call): Promise<void> {
	const { engine, params } = call;
	const found = await engine.jobs.details({ endpoint: params.endpoint, id: params.job });
	const full = may(principalOf(call), "write", params.endpoint);
	const { input } = found;
	const view = jobView(found, engine.now());
	// Its last piece is a string: the end of the object.
	const pieces = typeof view === "string" ? [view] : [...view];
	pieces.push(joined(String(pieces.pop()), detail(found, full)));
	if (input !== undefined)
		pieces.push(
			`${String(pieces.pop()).slice(0, -1)},"input":`,
			...(typeof input === "string" ? [input] : input),
			"}",
		);
	json(call.res, pieces);
}

/** What stands beside the job object; `full`: the webhook as it was given. */
function detail(
	{ job, attempts, reason, chunks }: JobDetails,
	full: boolean,
): Record<string, unknown> {
	const { operation, lowPriority, queuedAt, ttlMs, executionTimeoutMs, webhook, s3Config } = job;
	return {
		...times(job),
		queuedAt: moment(queuedAt),
		expiresAt: moment(expiresAt(job)),
		reason,
		operation,
		lowPriority,
		policy: { ttl: ttlMs, executionTimeout: executionTimeoutMs },
		webhook: webhook === undefined ? undefined : full ? webhook : shownUrl(webhook),
		s3Config: s3Config !== undefined,
		chunks,
		attempts: attempts.map(({ worker, startedAt, endedAt, ...rest }) => ({
			...rest,
			workerId: worker,
			startedAt: moment(startedAt),
			endedAt: moment(endedAt),
		})),
		timeline: timelineOf(job, attempts).map(({ at, worker, ...rest }) => ({
			at: moment(at),
			...rest,
			workerId: worker,
		})),
	};
}

function times({ submittedAt, startedAt, endedAt, erased }: Job): Record<string, unknown> {
	return {
		submittedAt: moment(submittedAt),
		startedAt: moment(startedAt),
		endedAt: moment(endedAt),
		expired: erased,
	};
}

/** The members of an object's text and those of an object, as one object's text. */
function joined(text: string, members: Readonly<Record<string, unknown>>): string {
	return `${text.slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}
