/** Uploads in parts, and objects in one request (D59). */
import { createHash } from "node:crypto";
import { hold } from "../../../kernel/http/memory/call-memory.ts";
import { outside } from "../../../kernel/http/exchange/call.ts";
import type { StoredFiles } from "../../../kernel/engine/stored-files.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { UploadRow } from "../../../kernel/store/contract/objects.ts";
import { quoted, sendEmpty, sendXml } from "../answers.ts";
import { readText } from "../requests/body-text.ts";
import { S3Error } from "../errors.ts";
import { timeOf } from "./list-objects.ts";
import { notImplemented, storedHeaders } from "./object-headers.ts";
import { readPlace, type S3Request } from "../requests/request.ts";
import { noUpload, type ObjectHeaders, type Objects, type Source } from "./store.ts";
import { elements } from "../xml.ts";
import { type ChosenPart, partNumber, readComplete } from "../requests/xml-bodies.ts";

export interface UploadContext {
	kernel: Kernel;
	files: StoredFiles;
	objects: Objects;
}

/** `If-None-Match: *` stores only what is new. Others are refused, so that none is taken for one that holds. */
function isIfAbsent({ call }: S3Request): boolean {
	const { "if-none-match": none, "if-match": match } = call.req.headers;
	if (match !== undefined || (none !== undefined && none !== "*"))
		throw notImplemented("A condition of a write other than 'If-None-Match: *'");
	return none !== undefined;
}

/** What the client sends, with the headers of the answer when all of it has arrived. */
async function sourceOf({ files }: UploadContext, request: S3Request) {
	const { call, keyId } = request;
	const payload = request.payload();
	if (payload.declared !== undefined && payload.declared > files.bounds.maxBytes) throw tooLarge(files.bounds.maxBytes);
	await outside(call, hold(call, await files.memory("upload")) ?? Promise.resolve());
	const { content, declared, md5, checked } = payload;
	const source: Source = { pieces: content, declared, md5, by: keyId };
	return { source, checked };
}

function tooLarge(limit: number): S3Error {
	return new S3Error("EntityTooLarge", `The object has more than ${limit} bytes, which files.maxMb allows.`);
}

export async function putObject(context: UploadContext, request: S3Request): Promise<void> {
	const { endpoint, bucket, key } = request;
	const place = { endpoint, bucket, key };
	const put = { ...place, headers: storedHeaders(request), ifAbsent: isIfAbsent(request) };
	const { source, checked } = await sourceOf(context, request);
	const { etag } = await context.objects.put(put, source);
	sendEmpty(request.call, { ETag: quoted(etag), ...checked() });
}

/** Throws `NoSuchUpload`. */
export async function findUpload({ kernel }: Pick<UploadContext, "kernel">, request: S3Request): Promise<UploadRow> {
	const { endpoint, bucket, key, query } = request;
	const id = query.get("uploadId") ?? "";
	const found = await kernel.store.objects.findUpload({ endpoint, bucket, key, id });
	if (found) return found;
	throw noUpload(id);
}

export async function createUpload({ objects }: UploadContext, request: S3Request): Promise<void> {
	const { endpoint, bucket, key } = request;
	const id = await objects.createUpload({ endpoint, bucket, key, headers: storedHeaders(request) });
	await sendXml(request.call, "InitiateMultipartUploadResult", elements({ Bucket: bucket, Key: key, UploadId: id }));
}

export async function putPart(context: UploadContext, request: S3Request): Promise<void> {
	const number = partNumber(request.query.get("partNumber"));
	const { id } = await findUpload(context, request);
	const { source, checked } = await sourceOf(context, request);
	const { etag } = await context.objects.putPart({ endpoint: request.endpoint, upload: id, number }, source);
	sendEmpty(request.call, { ETag: quoted(etag), ...checked() });
}

/** MD5 of the MD5s of the parts, and their number. */
function etagOf(parts: readonly ChosenPart[]): string {
	const hash = createHash("md5");
	for (const { etag } of parts) hash.update(Buffer.from(etag, "hex"));
	return `${hash.digest("hex")}-${parts.length}`;
}

export async function completeUpload(context: UploadContext, request: S3Request): Promise<void> {
	const { kernel, objects, files } = context;
	const { endpoint, bucket, key, query } = request;
	const parts = await readComplete(await readText(request));
	const id = query.get("uploadId") ?? "";
	const place = { endpoint, bucket, key };
	// A repetition of a request whose answer was lost finds the object instead.
	const upload = await kernel.store.objects.findUpload({ ...place, id });
	const createdAt = kernel.now();
	const outcome = await kernel.store.objects.complete({
		object: {
			...{ ...place, content: id, etag: etagOf(parts), headers: upload?.headers ?? "{}", createdAt },
			expiresAt: objects.expiry(createdAt),
		},
		...{ parts, maxBytes: files.bounds.maxBytes, ifAbsent: isIfAbsent(request), now: createdAt },
	});
	if (outcome === "no upload") throw noUpload(id);
	if (outcome === "too large") throw tooLarge(files.bounds.maxBytes);
	if (outcome === "exists") throw new S3Error("PreconditionFailed", "The key has an object already.");
	if ("badPart" in outcome)
		throw new S3Error("InvalidPart", `Part ${outcome.badPart} was not sent, or has another ETag.`);
	objects.free(outcome.freed);
	await sendXml(
		request.call,
		"CompleteMultipartUploadResult",
		elements({ Location: `/s3/${bucket}/${key}`, Bucket: bucket, Key: key, ETag: quoted(etagOf(parts)) }),
	);
}

export async function abortUpload({ kernel, objects }: UploadContext, request: S3Request): Promise<void> {
	const { endpoint, bucket, key, query } = request;
	const id = query.get("uploadId") ?? "";
	const outcome = await kernel.store.objects.abort({ endpoint, bucket, key, id });
	if (outcome === "no upload") throw noUpload(id);
	objects.free(outcome.freed);
	sendEmpty(request.call, {}, 204);
}

export async function copyObject({ kernel, objects }: UploadContext, request: S3Request): Promise<void> {
	const { endpoint, bucket, key, header } = request;
	const from = { endpoint, ...readPlace(header("x-amz-copy-source") ?? "") };
	const isReplaced = header("x-amz-metadata-directive")?.toUpperCase() === "REPLACE";
	const headers: ObjectHeaders | undefined = isReplaced ? storedHeaders(request) : undefined;
	const { etag, createdAt } = await objects.copy({ from, to: { endpoint, bucket, key }, headers });
	const result = { LastModified: timeOf(kernel, createdAt), ETag: quoted(etag) };
	await sendXml(request.call, "CopyObjectResult", elements(result));
}
