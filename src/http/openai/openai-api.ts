/** `/openai/*` (D32, protocol C): each request is a job. */
import { ApiError } from "../../core/errors.ts";
import { stringOf } from "../../core/json/json-text.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import { isFinal } from "../../core/job-states.ts";
import { failureByEnd, failureInOutput, failureOfJob } from "../../core/openai/openai-error.ts";
import {
	OPENAI_SUBMISSION_OPTIONS,
	openaiInput,
	outputOf,
	singleResult,
} from "../../core/openai/openai.ts";
import { SUBMISSION_JSON } from "../../core/submission.ts";
import { notAnObject, readJson } from "../body.ts";
import type { Call } from "../call.ts";
import { CHECK_MS, answerFailure } from "./openai-reply.ts";
import type { JobName } from "./openai-reply.ts";
import { streamed } from "./openai-stream.ts";
import { json } from "../reply.ts";

/**
 * POST or GET /openai/{route}. `Idempotency-Key` is ignored: the official clients send one per
 * attempt, and results are not kept for another.
 */
export async function openai(call: Call): Promise<void> {
	const { engine, params } = call;
	const { input, stream } = await readRequest(call);
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	const endpoint = engine.endpoints.get(params.endpoint);
	const id = engine.jobs.newId("openai");
	await engine.jobs.submit({
		id,
		endpoint,
		operation: "openai",
		wish: OPENAI_SUBMISSION_OPTIONS,
		input,
	});
	call.res.setHeader("x-request-id", id);
	const job = { endpoint: endpoint.id, id };
	let ended = false;
	try {
		ended = await (stream ? streamed : whole)(call, job);
	} catch (error) {
		if (!(error instanceof ApiError) || error.code !== "job_not_found") throw error;
		answerFailure(call, failureByEnd("removed"));
		ended = true;
	} finally {
		// Only this client could get the result.
		if (!ended) engine.jobs.abandon(job);
	}
}

/** Input of the job, and whether to stream; throws 400 and 413. */
async function readRequest(call: Call): Promise<{ input: JsonText; stream: boolean }> {
	const route = `/${call.params.rest}`;
	if (call.req.method === "GET") return { input: openaiInput(route, undefined), stream: false };
	const { size, scan, payload } = await readJson(call, { ...SUBMISSION_JSON, members: ["stream"] });
	if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
	const body = payload({ start: 0, end: size });
	return { input: openaiInput(route, body), stream: scan.members["stream"]?.kind === "true" };
}

/** Waits for the end, then sends one JSON body; false if the client disconnects before. */
async function whole(call: Call, job: JobName): Promise<boolean> {
	const { engine, caller } = call;
	for (;;) {
		const found = await engine.jobs.statusSync({ ...job, ms: CHECK_MS, caller });
		if (isFinal(found.job.state)) {
			if (found.job.state !== "COMPLETED") answerFailure(call, failureOfJob(found));
			else await answer(call, found.output === undefined ? undefined : stringOf(found.output), job);
			return true;
		}
		if (caller.disconnected) return false;
		if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	}
}

async function answer(call: Call, output: JsonText | undefined, job: JobName): Promise<void> {
	const body =
		singleResult(output) ??
		(await chunksAsResult(call, job)) ??
		(output === undefined ? "{}" : "[]");
	const failure = failureInOutput(body);
	if (failure) answerFailure(call, failure);
	else json(call.res, body);
}

/** The only chunk's output, or a list of all; undefined without chunks. */
async function chunksAsResult({ engine, caller }: Call, job: JobName): Promise<string | undefined> {
	const outputs: string[] = [];
	for (let from = 0; ; ) {
		const found = await engine.jobs.streamFrom({ ...job, from, waitMs: 0, caller });
		for (const chunk of found.chunks) outputs.push(outputOf(chunk));
		from = found.next;
		if (isFinal(found.state) || found.chunks.length === 0) break;
	}
	return outputs.length > 1 ? `[${outputs.join(",")}]` : outputs[0];
}
