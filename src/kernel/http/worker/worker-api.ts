/**
 * `/worker/{endpoint}/...` for unmodified SDK workers (protocol B). Results are never refused (D19); a return of a job
 * that is not valid is (D54).
 */
import type { AnswerOf } from "../../api/definition/route.ts";
import { BATCH_LIMIT, type JOB_STOP } from "../../api/worker-protocol.ts";
import { type JsonPieces, type JsonText, piecesOf, release, sizeOf } from "../../lib/json/json-text.ts";
import {
	LINES_TOGETHER,
	notJson,
	readReport,
	type Report,
	REPORT_MEMBERS,
	type ReportParts,
	tooLarge,
	unreadable,
} from "../../core/jobs/report.ts";
import { ApiError } from "../../core/errors.ts";
import { traceparentOf } from "../../core/trace.ts";
import { warmupId } from "../../core/jobs/job.ts";
import { replaceControls } from "../../lib/text.ts";
import type { DispatchedJob } from "../../engine/jobs/dispatch/take.ts";
import { BodyTooLarge, readJson, type ScannedBody } from "../exchange/body.ts";
import { type Call, connected, query } from "../exchange/call.ts";
import { mustRead } from "../exchange/answer.ts";
import { holdNow } from "../memory/call-memory.ts";
import { json, jsonWritten, nothing } from "../exchange/reply.ts";

export const POSTED = "{}";

/** Announces to workers that can use them: returns (D54), and batches. */
const RETURNS = ["Sluice-Job-Return", "1"];
const SINGLE = [...RETURNS, "Sluice-Job-Stream-Batch", String(LINES_TOGETHER)];
const BATCHES = [...SINGLE, "Sluice-Job-Done-Batch", String(LINES_TOGETHER)];

export async function take(call: Call): Promise<void> {
	const jobs = await takeJobs(call, query(call), 1);
	if (jobs.length > 0) await handOut(call, jobs, piecesOf(...jobText(call, jobs[0]!)), SINGLE);
}

/** Long poll for up to `batch_size` jobs. */
export async function takeBatch(call: Call<"worker">): Promise<void> {
	const q = query(call);
	const size = Number(q.get("batch_size") ?? 1);
	const limit = Number.isInteger(size) ? Math.min(Math.max(size, 1), BATCH_LIMIT) : 1;
	const jobs = await takeJobs(call, q, limit);
	const texts = jobs.flatMap((job, index) => (index === 0 ? jobText(call, job) : [",", ...jobText(call, job)]));
	// The post of a warm-up must name it in its path.
	const isWarmup = jobs[0]?.id === warmupId(call.params.worker);
	if (jobs.length > 0) await handOut(call, jobs, piecesOf("[", ...texts, "]"), isWarmup ? RETURNS : BATCHES);
}

/** Long poll for ids of jobs to stop (D18). */
export async function stop(call: Call): Promise<AnswerOf<typeof JOB_STOP> | void> {
	const jobsToStop = await withCaller(call, (signal) =>
		call.engine.workers.pollStops({ worker: call.identity.worker!, signal }),
	);
	if (jobsToStop.length === 0) return nothing(call.res);
	return { jobsToStop };
}

export async function done(call: Call<"job">): Promise<void> {
	await call.engine.jobs.report({
		worker: call.identity.worker!,
		id: call.params.job,
		report: await readDone(call),
	});
	call.req.resume();
	json(call.res, POSTED);
}

/** A heartbeat with job ids (D16). */
export async function ping(call: Call): Promise<void> {
	const q = query(call);
	const named = (q.get("job_id") ?? "").split(",").filter((id) => id !== "");
	const unhealthy =
		q.get("status") === "unhealthy"
			? replaceControls(`${q.get("check") ?? "a check"}: ${q.get("reason") ?? "no reason given"}`.slice(0, 500))
			: undefined;
	const version = q.get("runpod_version")?.slice(0, 64);
	const reported = { named, unhealthy, version: version && replaceControls(version) };
	await withCaller(call, (signal) => call.engine.jobs.ping({ worker: call.identity.worker!, said: reported, signal }));
	json(call.res, POSTED);
}

/** Only a worker that asks for it gets the run, so that others get what RunPod sends (D55). */
function jobText({ req }: Pick<Call, "req">, job: DispatchedJob): JsonText[] {
	const { id, attempt, run, input, s3Config, trace, requestId } = job;
	let rest = s3Config === undefined ? "" : `,"s3Config":${s3Config}`;
	if (trace) rest += `,"traceparent":"${traceparentOf(trace)}"`;
	if (trace?.state !== undefined) rest += `,"tracestate":${JSON.stringify(trace.state)}`;
	if (requestId !== undefined) rest += `,"requestId":${JSON.stringify(requestId)}`;
	if (run !== undefined && req.headers["sluice-run"] === "1") rest += `,"run":${run},"attempt":${attempt}`;
	return [`{"id":"${id}","input":`, input, `${rest}}`];
}

async function takeJobs(call: Call, q: URLSearchParams, limit: number): Promise<DispatchedJob[]> {
	const worker = call.identity.worker!;
	const idle = q.get("job_in_progress") === "0";
	const jobs = await withCaller(call, (signal) => call.engine.jobs.take({ worker, limit, idle, signal }));
	if (jobs.length === 0) nothing(call.res);
	return jobs;
}

async function handOut(call: Call, jobs: DispatchedJob[], text: JsonPieces, headers: readonly string[]): Promise<void> {
	mustRead(call);
	holdNow(
		call,
		jobs.reduce((sum, { input }) => sum + sizeOf(input), 0),
	);
	const written = connected(call) && (await jsonWritten(call, text, headers));
	if (!written) return await call.engine.jobs.requeueUndelivered(call.identity.worker!, jobs);
	// The store has the inputs.
	for (const { input } of jobs) release(input);
}

async function withCaller<T>({ caller }: Call, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	if (caller.disconnected) left.abort();
	try {
		return await wait(left.signal);
	} finally {
		caller.onDisconnect = undefined;
	}
}

/** A large result may take longer than the lease of its job (D16). Most bodies have arrived with their headers. */
export function signOfLife(call: Call<"job">): void {
	const { job: id } = call.params;
	if (call.req.complete || id === undefined) return;
	call.req.on("data", call.engine.jobs.arrivingPost({ worker: call.identity.worker!, id }));
}

/** Refusing them would lose the result, as workers try a few times only. */
const CODING_ERRORS: readonly string[] = ["unsupported_encoding", "bad_encoding"];

export async function readWorkerBody(
	call: Call<"job">,
	members: readonly string[],
): Promise<ScannedBody | { report: Report }> {
	try {
		const reading = readJson(call, { members });
		signOfLife(call);
		const body = await reading;
		if (body.scan.ok && body.scan.kind === "object") return body;
		const why = body.scan.ok
			? `it is ${body.scan.kind === "array" ? "an" : "a"} ${body.scan.kind}, not an object.`
			: body.scan.fault.message;
		return { report: notJson(why, body.size) };
	} catch (error) {
		if (error instanceof BodyTooLarge) return { report: tooLarge(error.size) };
		if (error instanceof ApiError && CODING_ERRORS.includes(error.code)) return { report: unreadable(error.message) };
		throw error;
	}
}

async function readDone(call: Call<"job">): Promise<Report> {
	const body = await readWorkerBody(call, REPORT_MEMBERS);
	return "report" in body ? body.report : reportOf(body);
}

/** The body must be scanned for `REPORT_MEMBERS`. Throws 400 for an invalid `return`. */
export function reportOf(body: ScannedBody): Report {
	const { scan } = body;
	if (!scan.ok) return notJson(scan.fault.message, body.size);
	const { output, error, status, stopPod, return: given } = scan.members;
	const parts: ReportParts = {};
	if (output) parts.output = body.payload(output);
	if (error) parts.error = body.text(error);
	if (status) parts.status = body.text(status);
	if (stopPod) parts.stopPod = body.text(stopPod);
	if (given) parts.return = body.text(given);
	return readReport(parts);
}
