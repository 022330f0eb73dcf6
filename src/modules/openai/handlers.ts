/** `/openai/*` (D32, protocol C): each request is a job. */
import { ApiError } from "../../kernel/core/errors.ts";
import { cut, type JsonText, LARGE_BYTES, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import type { AdmitOutput, JobResult } from "../../kernel/core/jobs/job-view.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { RESULT_LIMIT } from "../../kernel/core/jobs/report.ts";
import { failureByEnd, failureInOutput, failureOfJob } from "./failures.ts";
import { OPENAI_SUBMISSION_OPTIONS, openaiInput, outputOf, singleResult } from "./translation.ts";
import { usageIn } from "./usage.ts";
import { traceText } from "../../kernel/core/trace.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import { admitOutput, answer } from "../../kernel/http/exchange/answer.ts";
import { notAnObject, readJson } from "../../kernel/http/exchange/body.ts";
import { type Call, isHead } from "../../kernel/http/exchange/call.ts";
import { headOnly, JSON_HEADERS, inSlices } from "../../kernel/http/exchange/reply.ts";
import { boundedReads } from "../../kernel/http/memory/bounded-reads.ts";
import { onStored } from "../../kernel/http/memory/call-memory.ts";
import { answerFailure, CHECK_MS, countTokens, type JobName, READ_BYTES, type TokenCounts } from "./reply.ts";
import { streamed } from "./stream.ts";

/** Ignores `Idempotency-Key`: the official clients send one per attempt, and results are not kept for another. */
export async function openai(call: Call<"endpoint" | "rest">, counts: TokenCounts): Promise<void> {
	const { engine, params } = call;
	if (isHead(call)) {
		engine.endpoints.get(params.endpoint);
		return headOnly(call.res, JSON_HEADERS);
	}
	const { input, stream } = await readRequest(call);
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	const endpoint = engine.endpoints.get(params.endpoint);
	const id = engine.jobs.newId("openai");
	await engine.jobs.submit({
		id,
		endpoint,
		operation: "openai",
		options: OPENAI_SUBMISSION_OPTIONS,
		input,
		trace: call.trace && traceText(call.trace.context),
		requestId: call.res.sentRequestId,
		stored: onStored(call),
	});
	call.res.setHeader("x-request-id", id);
	const job = { endpoint: endpoint.id, id };
	let ended = false;
	try {
		ended = await (stream ? streamed : whole)(call, job, counts);
	} catch (error) {
		if (!(error instanceof ApiError) || error.code !== "job_not_found") throw error;
		answerFailure(call, failureByEnd("removed"));
		ended = true;
	} finally {
		// Only this client could get the result.
		if (!ended) engine.jobs.abandon(job);
	}
}

async function readRequest(call: Call<"rest">): Promise<{ input: JsonText; stream: boolean }> {
	const route = `/${call.params.rest}`;
	if (call.req.method === "GET") return { input: openaiInput(route, undefined), stream: false };
	const body = await readJson(call, { ...SUBMISSION_JSON, members: ["stream", "model"] });
	const { scan, size } = body;
	if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
	const { model } = scan.members;
	if (model?.kind === "string") describeModel(call, route, String(JSON.parse(body.text(model))));
	return {
		input: openaiInput(route, body.payload({ start: 0, end: size })),
		stream: scan.members["stream"]?.kind === "true",
	};
}

/** End of a large answer, with its `usage`. */
const TAIL_BYTES = 4096;

/** An error object for chunks over the result limit (protocol C.2). */
const TOO_LARGE = JSON.stringify({
	object: "error",
	message: `The worker's stream has more than ${RESULT_LIMIT} bytes, too many for one answer. Set "stream": true.`,
	code: 500,
});

/** Sends one JSON body at the job's end. False if the client disconnects before. */
async function whole(call: Call, job: JobName, counts: TokenCounts): Promise<boolean> {
	const { engine, caller } = call;
	const admit = admitOutput(call);
	const output: AdmitOutput = (found) => (found.job.state === "COMPLETED" ? admit(found) : undefined);
	for (;;) {
		const found = await engine.jobs.statusSync({ ...job, ms: CHECK_MS, caller, output });
		if (isFinal(found.job.state)) {
			if (found.job.state === "COMPLETED") await answerOutput(call, found, counts);
			else answerFailure(call, failureOfJob(found));
			return true;
		}
		if (caller.disconnected) return false;
		if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	}
}

async function answerOutput(call: Call, { job, output }: JobResult, counts: TokenCounts): Promise<void> {
	const body =
		(await inSlices(singleResult(output))) ?? (await chunksAsResult(call, job)) ?? (output === undefined ? "{}" : "[]");
	const small = sizeOf(body) <= LARGE_BYTES;
	const failure = small ? failureInOutput(stringOf(body)) : undefined;
	if (failure) return answerFailure(call, failure);
	const end = typeof body === "string" ? body : cut(body, sizeOf(body) - TAIL_BYTES, sizeOf(body));
	countTokens(call, { counts, endpoint: job.endpoint, usage: usageIn(stringOf(end)) });
	await answer(call, body);
}

/** The only chunk's output, or a list of all. Undefined without chunks. */
async function chunksAsResult(call: Call, { endpoint, id }: JobName): Promise<JsonText | undefined> {
	const { engine, caller } = call;
	const outputs: string[] = [];
	let size = 0;
	const bounded = boundedReads(call, READ_BYTES, () => size * 2);
	for (let from = 0; ; ) {
		const found = await engine.jobs.streamFrom({ endpoint, id, from, waitMs: 0, caller, bounded });
		for (const chunk of found.chunks) {
			const output = outputOf(chunk);
			outputs.push(output);
			size += output.length;
		}
		if (size > RESULT_LIMIT) return TOO_LARGE;
		from = found.next;
		if (isFinal(found.state) || found.chunks.length === 0) break;
	}
	return outputs.length > 1 ? `[${outputs.join(",")}]` : outputs[0];
}

const GEN_AI_OPERATIONS: Readonly<Record<string, string>> = {
	"chat/completions": "chat",
	completions: "text_completion",
	embeddings: "embeddings",
};

/** `gen_ai.*` of the request's span, if it is recorded. */
function describeModel({ trace }: Call, route: string, model: string): void {
	const operation = GEN_AI_OPERATIONS[route.replace(/^\/v1\//, "")];
	if (!trace?.attributes) return;
	trace.attributes["gen_ai.request.model"] = model.slice(0, 256);
	if (operation) trace.attributes["gen_ai.operation.name"] = operation;
}
