/** `/v1/endpoints/{endpoint}/jobs`: jobs for operators (D29, D39). */
import {
	type Attempt,
	type CANCEL_JOBS,
	EXPIRED,
	FROM,
	ID_FILTER,
	type JobDetail,
	type JobList,
	type JobSummary,
	PREVIEW,
	SEARCH,
	STATUS_FILTER,
	TO,
	WITH_COUNT,
	WORKER_FILTER,
} from "../../api/job-records.ts";
import { type Job as JobJson, RUNSYNC } from "../../api/jobs.ts";
import { CURSOR, LIMIT } from "../../api/definition/params.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import { readBulkRequest } from "../../core/jobs/bulk-request.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import type { Job } from "../../core/jobs/job.ts";
import { clientTrace } from "../../core/trace.ts";
import { PREVIEW_CHARACTERS } from "../../core/jobs/job-search.ts";
import { cut, type JsonText, sizeOf, stringOf } from "../../lib/json/json-text.ts";
import { jobView, outputSize } from "../../core/jobs/job-view.ts";
import { expiresAt, timelineOf } from "../../core/jobs/timeline-events.ts";
import { may } from "../../engine/access/keys.ts";
import type { JobDetails } from "../../engine/jobs/job-details.ts";
import type { JobFilter, JobPage, ListedJob } from "../../store/contract/jobs.ts";
import { principalOf } from "../gates/auth.ts";
import type { Engine } from "../../engine/engine.ts";
import { type Call, valueOf } from "../exchange/call.ts";
import { answer } from "../exchange/answer.ts";
import { hold, holdNow } from "../memory/call-memory.ts";
import { readObject } from "../exchange/object-body.ts";
import { isoJobTime, shownUrl } from "../exchange/format.ts";
import { endedWorkerJson } from "./workers-api.ts";

/** No submission is longer, bytes. */
const MOST_INPUT = RUNSYNC.maxBody;

type SummaryPart = Sendable<Omit<JobSummary, keyof JobJson>>;
type DetailPart = Sendable<Omit<JobDetail, keyof JobJson | "input">>;

/** Sorts by submission, newest first. Has times, no output. */
export async function list(call: Call<"endpoint">): Promise<void> {
	const { engine, params } = call;
	const filter: JobFilter = {
		states: valueOf(call, STATUS_FILTER),
		worker: valueOf(call, WORKER_FILTER),
		...jobTimes(engine, { from: valueOf(call, FROM), to: valueOf(call, TO) }),
	};
	const id = valueOf(call, ID_FILTER);
	const erased = valueOf(call, EXPIRED);
	const heads = valueOf(call, PREVIEW);
	const page = { cursor: valueOf(call, CURSOR), limit: valueOf(call, LIMIT) };
	const what = { search: valueOf(call, SEARCH), heads, count: valueOf(call, WITH_COUNT) };
	const found: JobPage =
		id === undefined
			? await engine.jobs.list({ endpoint: params.endpoint, filter, erased, ...what, ...page })
			: { jobs: await one(call, { id, filter, erased }) };
	const now = engine.now();
	const texts = found.jobs.map(({ inputHead, ...each }) =>
		extended(jobView({ ...each, output: undefined }, now), {
			...summaryPart(engine, each.job),
			...(heads && inputHead !== undefined ? { inputPreview: previewOf(inputHead) } : {}),
		}),
	);
	const rest: Sendable<Omit<JobList, "jobs">> = {
		next: found.next ?? null,
		searchedTo: isoJobTime(engine, found.searchedTo),
		matching: found.matching,
	};
	await answer(call, `{"jobs":[${texts.join(",")}],${JSON.stringify(rest).slice(1)}`);
}

function previewOf(head: JsonText): string {
	return stringOf(head).slice(0, PREVIEW_CHARACTERS);
}

async function one(
	call: Call<"endpoint">,
	{ id, filter, erased }: { id: string; filter: JobFilter; erased: boolean },
): Promise<ListedJob[]> {
	try {
		const { job, error, input } = await details(call, id);
		if (!matches(job, filter) || (job.erased && !erased)) return [];
		const inputHead = typeof input === "object" ? cut(input, 0, 4 * PREVIEW_CHARACTERS) : input;
		return [{ job, error, inputHead }];
	} catch (error) {
		if (error instanceof ApiError && error.code === "job_not_found") return [];
		throw error;
	}
}

function matches({ state, worker, submittedAt }: Job, filter: JobFilter): boolean {
	const { states, from = 0, to = Infinity } = filter;
	return (
		(states?.includes(state) ?? true) &&
		(filter.worker === undefined || filter.worker === worker) &&
		submittedAt >= from &&
		submittedAt < to
	);
}

async function details(call: Call<"endpoint">, id: string): Promise<JobDetails> {
	const { engine, params } = call;
	const q = { endpoint: params.endpoint, id };
	const shown = await engine.jobs.status(q).catch((error: unknown) => {
		// Erased jobs have no texts.
		if (error instanceof ApiError && error.code === "job_not_found") return undefined;
		throw error;
	});
	if (shown) await hold(call, outputSize(shown) + MOST_INPUT);
	const found = await engine.jobs.details(q);
	holdNow(call, outputSize(found) + (found.input === undefined ? 0 : sizeOf(found.input)));
	return found;
}

/** Also expired jobs. `input` and `output` are byte for byte (D5). */
export async function get(call: Call<"job" | "endpoint">): Promise<void> {
	const { engine, params } = call;
	const found = await details(call, params.job);
	const full = may(principalOf(call), "write", params.endpoint);
	const { input } = found;
	const view = jobView(found, engine.now());
	// The last piece is a string that ends the object.
	const pieces = typeof view === "string" ? [view] : [...view];
	pieces.push(extended(String(pieces.pop()), detailPart(call, found, full)));
	if (input !== undefined)
		pieces.push(`${String(pieces.pop()).slice(0, -1)},"input":`, ...(typeof input === "string" ? [input] : input), "}");
	await answer(call, pieces);
}

/** Cancels a batch of waiting or running jobs. */
export function cancel(call: Call<"endpoint">): Promise<AnswerOf<typeof CANCEL_JOBS>> {
	return bulk(call, "cancel");
}

/** Retries a batch of FAILED and TIMED_OUT jobs. */
export function retry(call: Call<"endpoint">): Promise<AnswerOf<typeof CANCEL_JOBS>> {
	return bulk(call, "retry");
}

async function bulk(call: Call<"endpoint">, on: "cancel" | "retry"): Promise<AnswerOf<typeof CANCEL_JOBS>> {
	const read = readBulkRequest(await readObject(call));
	if (!read.ok) throw badRequest(read.faults);
	const { endpoint } = call.params;
	const { filter, ...request } = read.request;
	const { matched, done, more, next } = await call.engine.jobs.bulk({
		endpoint,
		on,
		...request,
		filter: { ...filter, ...jobTimes(call.engine, filter) },
	});
	return { matched, done, more, next: next ?? null };
}

/** `full`: without redaction of the webhook URL. */
function detailPart(call: Call<"endpoint">, { job, attempts, reason, chunks }: JobDetails, full: boolean): DetailPart {
	const { engine, service } = call;
	const { traces } = engine.hooks;
	const traceId = traces ? traces.idOf(job) : clientTrace(job)?.traceId;
	const { operation, lowPriority, requestId, queuedAt, ttlMs, executionTimeoutMs, webhook, s3Config } = job;
	return {
		...summaryPart(engine, job),
		queuedAt: isoJobTime(engine, queuedAt),
		expiresAt: isoJobTime(engine, expiresAt(job)),
		reason: reason && {
			...reason,
			since: isoJobTime(engine, reason.since),
			retryAt: isoJobTime(engine, reason.retryAt),
			worker: reason.worker && endedWorkerJson(call, reason.worker),
		},
		operation,
		lowPriority,
		requestId,
		trace: traceId === undefined ? undefined : { id: traceId, url: service.traceUrl?.replaceAll("{traceId}", traceId) },
		policy: { ttl: ttlMs, executionTimeout: executionTimeoutMs },
		webhook: webhook && shownUrl(webhook, full),
		s3Config: s3Config !== undefined,
		chunks,
		attempts: attempts.map(
			({ worker, startedAt, endedAt, ...rest }): Sendable<Attempt> => ({
				...rest,
				workerId: worker,
				startedAt: isoJobTime(engine, startedAt),
				endedAt: isoJobTime(engine, endedAt),
			}),
		),
		timeline: timelineOf(job, attempts, (id) => engine.workers.allViews.sharedId({ endpoint: job.endpoint, id })).map(
			({ at, worker, ...rest }) => ({
				at: isoJobTime(engine, at),
				...rest,
				workerId: worker,
			}),
		),
	};
}

function jobTimes({ calendar }: Engine, { from, to }: Pick<JobFilter, "from" | "to">): Pick<JobFilter, "from" | "to"> {
	return {
		...(from !== undefined && { from: calendar.jobTime(from) }),
		...(to !== undefined && { to: calendar.jobTime(to) }),
	};
}

function summaryPart(engine: Engine, { submittedAt, startedAt, endedAt, release, erased }: Job): SummaryPart {
	return {
		submittedAt: isoJobTime(engine, submittedAt),
		startedAt: isoJobTime(engine, startedAt),
		endedAt: isoJobTime(engine, endedAt),
		release,
		expired: erased,
	};
}

function extended(text: string, members: SummaryPart | DetailPart): string {
	return `${text.slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}
