/**
 * `/worker/{endpoint}/...`: the protocol of unmodified SDK workers (protocol B). Results are never
 * refused (D19).
 */
import type { AnswerOf } from "../../api/route.ts";
import { BATCH_LIMIT, type JOB_STOP } from "../../api/worker-protocol.ts";
import { type JsonPieces, type JsonText, piecesOf, release, sizeOf } from "../../core/json/json-text.ts";
import { LINES_TOGETHER, notJson, readReport, type Report, REPORT_MEMBERS, tooLarge } from "../../core/report.ts";
import { replaceControls } from "../../core/text.ts";
import type { DispatchedJob } from "../../engine/jobs/read-claimed.ts";
import { BodyTooLarge, readJson, type ScannedBody } from "../body.ts";
import { type Call, connected, query } from "../call.ts";
import { mustRead } from "../answer.ts";
import { holdNow } from "../memory/call-memory.ts";
import { json, jsonWritten, nothing } from "../reply.ts";

/** The answer to a report. */
export const POSTED = "{}";

/** Header for workers that post several chunks together, and for those that take several jobs. */
const STREAM_BATCH = ["Sluice-Job-Stream-Batch", String(LINES_TOGETHER)];
const BATCHES = [...STREAM_BATCH, "Sluice-Job-Done-Batch", String(LINES_TOGETHER)];

/** GET /job-take/{worker}: one job; long poll. */
export async function take(call: Call): Promise<void> {
	await dispatch(call, 1, (jobs) => piecesOf(...jobText(jobs[0]!)), STREAM_BATCH);
}

/** GET /job-take-batch/{worker}?batch_size=N: up to N jobs; long poll. */
export async function takeBatch(call: Call): Promise<void> {
	const size = Number(query(call).get("batch_size") ?? 1);
	const limit = Number.isInteger(size) ? Math.min(Math.max(size, 1), BATCH_LIMIT) : 1;
	await dispatch(
		call,
		limit,
		(jobs) =>
			piecesOf("[", ...jobs.flatMap((job, index) => (index === 0 ? jobText(job) : [",", ...jobText(job)])), "]"),
		BATCHES,
	);
}

/** GET /job-stop/{worker}: ids of jobs to stop; long poll (D18). */
export async function stop(call: Call): Promise<AnswerOf<typeof JOB_STOP> | void> {
	const jobsToStop = await withCaller(call, (signal) =>
		call.engine.workers.pollStops({ worker: call.identity.worker!, signal }),
	);
	if (jobsToStop.length === 0) return nothing(call.res);
	return { jobsToStop };
}

/** POST /job-done/{worker}/{job}: progress, a result or a failure. */
export async function done(call: Call): Promise<void> {
	await call.engine.jobs.report({
		worker: call.identity.worker!,
		id: call.params.job,
		report: await readDone(call),
	});
	call.req.resume();
	json(call.res, POSTED);
}

/** GET /ping/{worker}?job_id=a,b: a heartbeat (D16). */
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

function jobText({ id, input, s3Config }: DispatchedJob): JsonText[] {
	return [`{"id":"${id}","input":`, input, s3Config === undefined ? "}" : `,"s3Config":${s3Config}}`];
}

async function dispatch(
	call: Call,
	limit: number,
	text: (jobs: DispatchedJob[]) => JsonPieces,
	headers: readonly string[],
): Promise<void> {
	const worker = call.identity.worker!;
	const idle = query(call).get("job_in_progress") === "0";
	const jobs = await withCaller(call, (signal) => call.engine.jobs.take({ worker, limit, idle, signal }));
	if (jobs.length === 0) return nothing(call.res);
	mustRead(call);
	holdNow(
		call,
		jobs.reduce((sum, { input }) => sum + sizeOf(input), 0),
	);
	const written = connected(call) && (await jsonWritten(call, text(jobs), headers));
	if (!written) return await call.engine.jobs.requeueUndelivered(worker, jobs);
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

export async function readWorkerBody(
	call: Call,
	members: readonly string[],
): Promise<ScannedBody | { report: Report }> {
	try {
		const body = await readJson(call, { members });
		if (body.scan.ok && body.scan.kind === "object") return body;
		const why = body.scan.ok
			? `it is ${body.scan.kind === "array" ? "an" : "a"} ${body.scan.kind}, not an object.`
			: body.scan.fault.message;
		return { report: notJson(why, body.size) };
	} catch (error) {
		if (error instanceof BodyTooLarge) return { report: tooLarge(error.size) };
		throw error;
	}
}

async function readDone(call: Call): Promise<Report> {
	const body = await readWorkerBody(call, REPORT_MEMBERS);
	return "report" in body ? body.report : reportOf(body);
}

/** The report in a body scanned for `REPORT_MEMBERS`. */
export function reportOf({ scan, text, payload, size }: ScannedBody): Report {
	if (!scan.ok) return notJson(scan.fault.message, size);
	const { output, error, status, stopPod } = scan.members;
	return readReport({
		...(output ? { output: payload(output)! } : {}),
		...(error ? { error: text(error)! } : {}),
		...(status ? { status: text(status)! } : {}),
		...(stopPod ? { stopPod: text(stopPod)! } : {}),
	});
}
