/** Submits the job that a video is (D62). */
import { DEFAULT_TTL_MS, retentionOf } from "../../kernel/core/endpoints/endpoint.ts";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import { asOne, type JsonText, LARGE_BYTES, piecesOf, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import { traceText } from "../../kernel/core/trace.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { hashOf, idempotencyKey } from "../../kernel/http/exchange/idempotency.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import { onStored } from "../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../kernel/module.ts";
import { blocksOf, edited } from "../openai/background/members.ts";
import { decodedPieces } from "../openai/file-answer.ts";
import { base64Of } from "../openai/form-input.ts";
import { fileBound, type Picture, type VideoRequest, videoRequest } from "./request.ts";
import { inputHead, type Mark, searchFor, videosOf } from "./stored.ts";

/** A repeat of an official client comes within this time, ms. */
const REPEAT_MS = 600_000;

/** How long a video is kept after its end, ms, unless results of `/run` are kept longer. */
const KEPT_MS = 86_400_000;

export interface Submission {
	route: string;
	/** The text by which a repeat of the request is known. */
	request: JsonText;
	remixedFrom?: string;
	/** Makes the request that the worker gets, for the job with this id. */
	body: (job: string) => Promise<JsonText>;
}

/** Returns the id of the job, as {@link submitVideo}. */
export async function createVideo(kernel: Kernel, call: Call<"endpoint">): Promise<string> {
	const read = await videoRequest(call);
	const request = asOne(piecesOf(read.body, read.picture?.data ?? ""));
	const body = (job: string): Promise<JsonText> => withReference(kernel, call, { job, read });
	return await submitVideo(kernel, call, { route: "/v1/videos", request, body });
}

/** Returns the id of the job: that of an earlier request if this one repeats it. */
export async function submitVideo(kernel: Kernel, call: Call<"endpoint">, q: Submission): Promise<string> {
	const { engine } = call;
	const key = idempotencyKey(call);
	const endpoint = engine.endpoints.get(call.params.endpoint);
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	const request = hashOf(asOne(piecesOf(`${principalOf(call).keyId}\n${q.route}\n`, q.request)));
	// The official clients repeat a request whose answer was lost, and send no key.
	if (key === undefined && Number(call.req.headers["x-stainless-retry-count"] ?? 0) > 0) {
		const recent = videosOf(kernel, call, { from: kernel.now() - REPEAT_MS, search: searchFor(request) });
		for await (const { mark, found } of recent) if (mark.request === request) return found.job.id;
	}
	const id = engine.jobs.newId("openai");
	const mark: Mark = { request, ...(q.remixedFrom !== undefined && { remixed_from: q.remixedFrom }) };
	let stored: string | undefined;
	try {
		const input = asOne(piecesOf(inputHead(q.route, mark), await q.body(id), "}"));
		stored = await engine.jobs.submit({
			id,
			endpoint,
			operation: "openai",
			options: { lowPriority: false, s3Config: false, ttlMs: DEFAULT_TTL_MS },
			input: sizeOf(input) < LARGE_BYTES ? stringOf(input) : input,
			kept: {
				retainMs: Math.max(KEPT_MS, retentionOf(endpoint, "run")),
				recordMs: Math.max(KEPT_MS, endpoint.retention.records),
			},
			trace: call.trace && traceText(call.trace.context),
			requestId: call.res.sentRequestId,
			stored: onStored(call),
			idempotency: key === undefined ? undefined : { key, bodyHash: request },
		});
	} finally {
		// The picture of a job that there is not.
		if (stored !== id) await kernel.hooks.deletedJob?.({ endpoint: endpoint.id, id });
	}
	call.res.setHeader("x-request-id", stored);
	return stored;
}

/** The request with what `input_reference` became: a link where the endpoint keeps files, else a `data:` URL. */
async function withReference(
	kernel: Kernel,
	call: Call<"endpoint">,
	{ job, read }: { job: string; read: VideoRequest },
): Promise<JsonText> {
	const { body, members, fileId } = read;
	const picture = fileId === undefined ? read.picture : await uploaded(kernel, call, { ...read, fileId });
	if (!picture) return asOne(piecesOf(body));
	const { type, data } = picture;
	const files = kernel.hooks.jobFiles?.(call.engine.endpoints.get(call.params.endpoint));
	const file = { name: "input_reference", contentType: type, pieces: decodedPieces(blocksOf(data)) };
	const link = await files?.put(job, file);
	const media = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream";
	const url = link === undefined ? [`"data:${media};base64,`, data, '"'] : [JSON.stringify(link)];
	const text = asOne(piecesOf('{"image_url":', ...url, "}"));
	return edited(body, [{ ...members.input_reference!, text }]);
}

/** A file that the client has uploaded. */
async function uploaded(
	{ hooks: { files } }: Kernel,
	call: Call<"endpoint">,
	{ body, memory, fileId }: VideoRequest & { fileId: string },
): Promise<Picture> {
	const fault = (message: string): ApiError => badRequest([{ field: "input_reference.file_id", message }]);
	const file = await files?.find(call.params.endpoint, fileId).catch((error: unknown) => {
		if (error instanceof ApiError) return undefined;
		throw error;
	});
	if (!files || !file) throw fault("is unknown: upload the file to the same endpoint.");
	const { bytes, type } = file;
	if (bytes > fileBound(call)) throw fault(`has ${bytes} bytes; it may have ${fileBound(call)}.`);
	await memory.add(sizeOf(body));
	const content = await files.open(file, { start: 0, end: bytes });
	try {
		return { type, data: await base64Of(content, memory.add) };
	} finally {
		await content.close();
	}
}
