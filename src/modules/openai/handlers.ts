/** `/openai/*` (D32, protocol C): each request is a job. */
import { ApiError } from "../../kernel/core/errors.ts";
import { type JsonText, LARGE_BYTES, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import type { AdmitOutput, JobResult } from "../../kernel/core/jobs/job-view.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { resultOfChunks } from "./chunks.ts";
import { ERRORS } from "./errors.ts";
import { failureByEnd, failureInOutput, failureOfJob } from "./failures.ts";
import { OPENAI_SUBMISSION_OPTIONS, openaiInput, singleResult } from "./translation.ts";
import { usageIn, usageText } from "./usage.ts";
import { traceText } from "../../kernel/core/trace.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import type { JobFiles } from "../../kernel/engine/job-files.ts";
import { admitOutput, answer } from "../../kernel/http/exchange/answer.ts";
import { notAnObject, readJson, type ScannedBody } from "../../kernel/http/exchange/body.ts";
import { type Call, isHead } from "../../kernel/http/exchange/call.ts";
import { isForm } from "../../kernel/http/exchange/form.ts";
import { headOnly, json, JSON_HEADERS, inSlices } from "../../kernel/http/exchange/reply.ts";
import { boundedReads } from "../../kernel/http/memory/bounded-reads.ts";
import { onStored } from "../../kernel/http/memory/call-memory.ts";
import { answerFailure, CHECK_MS, countTokens, type JobName, READ_BYTES, type TokenCounts } from "./reply.ts";
import { answeredAsFile } from "./file-answer.ts";
import type { Kernel } from "../../kernel/module.ts";
import { type ModelLists, MODELS_ROUTE } from "./model-lists.ts";
import { streamed } from "./stream.ts";

/** The one route whose requests may run in the background (D58). */
const RESPONSES_ROUTE = "/v1/responses";

/** The route whose answers have pictures (D60). */
const IMAGES_ROUTE = "/v1/images/generations";

/** Tokens that were counted and lists of models that are known, for as long as the module is open. */
export interface OpenaiState {
	kernel: Kernel;
	tokens: TokenCounts;
	models: ModelLists;
}

/** Ignores `Idempotency-Key`: the official clients send one per attempt, and results are not kept for another. */
export async function openai(call: Call<"endpoint" | "rest">, state: OpenaiState): Promise<void> {
	const { engine, params } = call;
	const { tokens, models } = state;
	if (WITHOUT_ID.test(params.rest)) throw new ApiError(ERRORS.openai_path_not_found, pathOf(call));
	if (isHead(call)) {
		engine.endpoints.get(params.endpoint);
		return headOnly(call.res, JSON_HEADERS);
	}
	const route = `/${params.rest}`;
	const request = await readRequest(call, route);
	if ("background" in request) {
		const { createBackground } = await import("./background/create.ts");
		return await createBackground(state.kernel, call, request.background);
	}
	const { input, stream, links } = request;
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	const endpoint = engine.endpoints.get(params.endpoint);
	const list = listRequest(call, { route, endpoint: endpoint.id, models });
	if (list?.known) return json(call.res, list.known.text, ["Age", String(list.known.age)]);
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
		const files = links ? state.kernel.hooks.jobFiles?.(endpoint) : undefined;
		ended = stream ? await streamed(call, job, tokens) : await whole(call, job, { tokens, onJson: list?.keep, files });
	} catch (error) {
		if (!(error instanceof ApiError) || error.code !== "job_not_found") throw error;
		answerFailure(call, failureByEnd("removed"));
		ended = true;
	} finally {
		// Only this client could get the result.
		if (!ended) engine.jobs.abandon(job);
	}
}

/** Returns the list of models that is known, and what keeps the answer to a request for it. Undefined for others. */
function listRequest(
	{ req, engine }: Call,
	{ route, endpoint, models }: { route: string; endpoint: string; models: ModelLists },
) {
	if (req.method !== "GET" || route !== MODELS_ROUTE) return undefined;
	const asked = engine.releases.current(endpoint);
	return {
		known: models.find(endpoint),
		keep: (text: string, worker: string | undefined): void => models.keep(endpoint, text, { asked, worker }),
	};
}

/** Paths of what the service keeps, with an empty id: as jobs they would wait for a worker that has none of it. */
const WITHOUT_ID = /^v1\/(?:batches|files|responses|uploads|videos)\/$/;

const pathOf = ({ req, path }: Call) => ({ method: req.method ?? "", path: path.slice(0, 200) });

/** A request for a background response is the body as it is. */
async function readRequest(
	call: Call,
	route: string,
): Promise<{ input: JsonText; stream: boolean; links?: boolean } | { background: ScannedBody }> {
	if (call.req.method === "GET") return { input: openaiInput(route, undefined), stream: false };
	if (isForm(call.req)) {
		const { formInput } = await import("./form-input.ts");
		const { model, ...form } = await formInput(call, route);
		if (model !== undefined) describeModel(call, route, model);
		return form;
	}
	const body = await readJson(call, { ...SUBMISSION_JSON, members: MEMBERS });
	const { scan, size } = body;
	if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
	const { model } = scan.members;
	if (model?.kind === "string") describeModel(call, route, String(JSON.parse(body.text(model))));
	if (scan.members["background"]?.kind === "true" && route === RESPONSES_ROUTE && call.path.startsWith("/v2/"))
		return { background: body };
	const format = route === IMAGES_ROUTE ? scan.members["response_format"] : undefined;
	return {
		input: openaiInput(route, body.payload({ start: 0, end: size })),
		stream: scan.members["stream"]?.kind === "true",
		links: format?.kind === "string" && body.text(format) === '"url"',
	};
}

const MEMBERS = ["stream", "model", "background", "response_format"];

interface WholeOptions {
	tokens: TokenCounts;
	/** Called with a JSON answer of up to {@link LARGE_BYTES} that is no error, before it is sent. */
	onJson: ((text: string, worker: string | undefined) => void) | undefined;
	/** Keeps pictures, which are answered as links. */
	files: JobFiles | undefined;
}

/** Sends one body at the job's end. False if the client disconnects before. */
async function whole(call: Call, job: JobName, options: WholeOptions): Promise<boolean> {
	const { engine, caller } = call;
	const admit = admitOutput(call);
	const output: AdmitOutput = (found) => (found.job.state === "COMPLETED" ? admit(found) : undefined);
	for (;;) {
		const found = await engine.jobs.statusSync({ ...job, ms: CHECK_MS, caller, output });
		if (isFinal(found.job.state)) {
			if (found.job.state === "COMPLETED") await answerOutput(call, found, options);
			else answerFailure(call, failureOfJob(found));
			return true;
		}
		if (caller.disconnected) return false;
		if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	}
}

async function answerOutput(call: Call, { job, output }: JobResult, q: WholeOptions): Promise<void> {
	const { tokens, onJson, files } = q;
	const given =
		(await inSlices(singleResult(output))) ?? (await chunksAsResult(call, job)) ?? (output === undefined ? "{}" : "[]");
	const small = sizeOf(given) <= LARGE_BYTES;
	const failure = small ? failureInOutput(stringOf(given)) : undefined;
	if (failure) return answerFailure(call, failure);
	const body = files ? await (await import("./image-links.ts")).withLinks(given, job.id, files) : given;
	if (await answeredAsFile(call, body)) return;
	if (small) onJson?.(stringOf(body), job.worker);
	countTokens(call, { counts: tokens, endpoint: job.endpoint, usage: usageIn(usageText(body)) });
	await answer(call, body);
}

async function chunksAsResult(call: Call, job: JobName): Promise<JsonText | undefined> {
	const { engine, caller } = call;
	let held = 0;
	const bounded = boundedReads(call, READ_BYTES, () => held * 2);
	return await resultOfChunks(
		(from) => engine.jobs.streamFrom({ ...job, from, waitMs: 0, caller, bounded }),
		(size) => (held = size),
	);
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
