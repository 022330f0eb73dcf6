/** Sends an object, or a range of it (D59). */
import type { ByteRange, ContentReader, StoredFiles } from "../../../kernel/engine/stored-files.ts";
import { ApiError } from "../../../kernel/core/errors.ts";
import { isHead, outside } from "../../../kernel/http/exchange/call.ts";
import { hold } from "../../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { ContentPart, StoredObject } from "../../../kernel/store/contract/objects.ts";
import { byteRange } from "../../files/byte-range.ts";
import { ERRORS as FILE_ERRORS } from "../../files/errors.ts";
import { sent } from "../../files/send.ts";
import { quoted, sendEmpty } from "../answers.ts";
import { S3Error } from "../errors.ts";
import { answerHeaders } from "./object-headers.ts";
import type { S3Request } from "../requests/request.ts";
import { noKey, type ObjectHeaders } from "./store.ts";

interface Context {
	kernel: Pick<Kernel, "calendar" | "now" | "store">;
	files: StoredFiles;
}

/** Throws `NoSuchBucket`, `NoSuchKey`. */
export async function findObject({ kernel }: Pick<Context, "kernel">, place: S3Request): Promise<StoredObject> {
	const { endpoint, bucket, key } = place;
	const { objects } = kernel.store;
	const found = await objects.find({ endpoint, bucket, key, now: kernel.now() });
	if (found) return found;
	if (await objects.hasBucket({ endpoint, name: bucket })) throw noKey(key);
	throw noBucket(bucket);
}

export function noBucket(bucket: string): S3Error {
	return new S3Error("NoSuchBucket", `There is no bucket '${bucket}' at this endpoint.`);
}

export async function getObject(context: Context, request: S3Request): Promise<void> {
	for (let object = await findObject(context, request); ; ) {
		try {
			return await sendObject(context, request, object);
		} catch (error) {
			const isMissing = error instanceof ApiError && error.code === FILE_ERRORS.file_missing.code;
			if (!isMissing || request.call.res.headersSent) throw error;
			// Since it was found, the object may have been deleted or replaced, and its bytes removed.
			const found = await findObject(context, request);
			if (found.content === object.content) throw error;
			object = found;
		}
	}
}

async function sendObject(context: Context, request: S3Request, object: StoredObject): Promise<void> {
	const { call } = request;
	const { etag, bytes } = object;
	const modifiedAt = context.kernel.calendar.of(object.createdAt);
	const headers = {
		...answerHeaders(request, JSON.parse(object.headers) as ObjectHeaders),
		ETag: quoted(etag),
		"Last-Modified": new Date(modifiedAt).toUTCString(),
		"Accept-Ranges": "bytes",
	};
	if (judged(request, object, modifiedAt) === "unchanged") return sendEmpty(call, headers, 304);
	const found = byteRange(isSame(request, etag, modifiedAt) ? call.req.headers.range : undefined, bytes);
	if (found === "none") {
		call.res.setHeader("Content-Range", `bytes */${bytes}`);
		throw new S3Error("InvalidRange", `The object has ${bytes} bytes, and none of them is in the range.`);
	}
	const range = found === "whole" ? { start: 0, end: bytes } : found;
	const status = found === "whole" ? 200 : 206;
	const all = {
		...headers,
		"Content-Length": String(range.end - range.start),
		...(status === 206 && { "Content-Range": `bytes ${range.start}-${range.end - 1}/${bytes}` }),
	};
	if (isHead(call)) {
		call.res.writeHead(status, all);
		call.res.end();
		return;
	}
	await outside(call, hold(call, await context.files.memory("download")) ?? Promise.resolve());
	const pieces = await openParts(context.files, object.parts, range);
	await sent(call, pieces, () => call.res.writeHead(status, all));
}

/** Conditions in the order of RFC 9110. Throws `PreconditionFailed`. */
function judged({ call }: S3Request, { etag }: StoredObject, modifiedAt: number): "unchanged" | "wanted" {
	const { headers } = call.req;
	const second = Math.floor(modifiedAt / 1000) * 1000;
	const match = headers["if-match"];
	const until = match === undefined ? headers["if-unmodified-since"] : undefined;
	if ((match !== undefined && !names(match, etag)) || (until !== undefined && second > Date.parse(until)))
		throw new S3Error("PreconditionFailed", "The object is not the one that the condition names.");
	const noneMatch = headers["if-none-match"];
	if (noneMatch !== undefined) return names(noneMatch, etag) ? "unchanged" : "wanted";
	const since = headers["if-modified-since"];
	return since !== undefined && second <= Date.parse(since) ? "unchanged" : "wanted";
}

/** `If-Range`: whether the client has a part of this object, and not of one that was replaced. */
function isSame({ call }: S3Request, etag: string, modifiedAt: number): boolean {
	const condition = call.req.headers["if-range"];
	return condition === undefined || condition === quoted(etag) || condition === new Date(modifiedAt).toUTCString();
}

function names(list: string, etag: string): boolean {
	return list.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "").replaceAll('"', "")));
}

/** Opens the first part at once, so that a missing one is refused, and each other one when it is read. */
async function openParts(files: StoredFiles, parts: readonly ContentPart[], range: ByteRange): Promise<ContentReader> {
	const ranges = rangesOf(parts, range);
	const openNext = async (): Promise<ContentReader | undefined> => {
		const next = ranges.shift();
		return next && (await files.open({ id: next.file, bytes: next.bytes }, next.range));
	};
	let current = await openNext();
	async function* read(): AsyncGenerator<Uint8Array, void> {
		while (current) {
			yield* current;
			await current.close();
			current = undefined;
			current = await openNext();
		}
	}
	return { [Symbol.asyncIterator]: read, close: async () => await current?.close() };
}

function rangesOf(parts: readonly ContentPart[], { start, end }: ByteRange): (ContentPart & { range: ByteRange })[] {
	let at = 0;
	return parts.flatMap((part) => {
		const range = { start: Math.max(0, start - at), end: Math.min(part.bytes, end - at) };
		at += part.bytes;
		return range.start < range.end ? [{ ...part, range }] : [];
	});
}
