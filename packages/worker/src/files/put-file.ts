/** Stores a file of a job in an S3 bucket, and makes the link to it. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Backoff, waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { Files, Job } from "../types.ts";
import { type Bucket, bucketOf } from "./bucket.ts";
import { contentTypeOf } from "./content-types.ts";
import { encoded, signedHeaders, signedLink } from "./signature.ts";

export interface JobFilesOptions {
	job: Job;
	env: Readonly<Record<string, string | undefined>>;
	clock: Clock;
	/** The time of the calendar, ms since 1970. */
	date: () => number;
	/** In [0, 1). */
	random: () => number;
	signal: () => AbortSignal;
}

/** Number of times that a request is sent at most. */
const TRIES = 5;
const BACKOFF: Backoff = { firstMs: 500, longestMs: 10_000 };
/** Time without a byte after which a request is repeated, ms. */
const IDLE_MS = 60_000;
/** Bytes of a refusal that are read. */
const REFUSAL_BYTES = 65_536;
/** Bytes that a key may have. */
const KEY_BYTES = 1024;

/** What is sent. `read` begins again with each attempt. */
interface Content {
	bytes: number;
	sha256: string;
	read: () => Readable;
}

export function jobFiles({ job, env, ...rest }: JobFilesOptions): Files {
	return {
		async put(source, { name, contentType } = {}) {
			const bucket = bucketOf(job, env, rest.date());
			const given = name ?? (typeof source === "string" ? basename(source) : undefined);
			if (given === undefined)
				throw new TypeError("files.put needs a name for bytes, such as { name: 'picture.png' }.");
			const url = addressOf(bucket, `${job.id}/${given}`);
			const type = contentType ?? contentTypeOf(given);
			const content = typeof source === "string" ? await contentOfFile(source) : contentOfBytes(source);
			await repeated(() => send({ bucket, url, type, content, ...rest }), { what: given, ...rest });
			const link = signedLink({ url, at: rest.date(), credentials: bucket.credentials });
			return { url: link, bytes: content.bytes, contentType: type };
		},
	};
}

/** Path style: the bucket is part of the path. */
function addressOf({ endpoint, name }: Bucket, key: string): URL {
	const parts = key.split("/");
	if (parts.some((part) => part === "" || part === "." || part === "..") || Buffer.byteLength(key) > KEY_BYTES)
		throw new TypeError(
			`The name of a file must be text such as 'picture.png' or 'frames/1.png', of up to ${KEY_BYTES} bytes with the ` +
				"id of the job.",
		);
	const url = new URL(endpoint);
	url.pathname = [endpoint.pathname.replace(/\/$/, ""), ...[name, ...parts].map(encoded)].join("/");
	return url;
}

function contentOfBytes(bytes: Uint8Array): Content {
	const sha256 = createHash("sha256").update(bytes).digest("hex");
	return { bytes: bytes.length, sha256, read: () => Readable.from([bytes], { objectMode: false }) };
}

/** Reads the file once for its hash and once for each attempt, and never holds it whole. */
async function contentOfFile(path: string): Promise<Content> {
	const { size } = await stat(path);
	const hash = createHash("sha256");
	await pipeline(readFile(path, size), hash);
	return { bytes: size, sha256: hash.digest("hex"), read: () => readFile(path, size) };
}

function readFile(path: string, size: number): Readable {
	return Readable.from(piecesOf(path, size), { objectMode: false });
}

/** A file that has grown is read up to its size at first. */
async function* piecesOf(path: string, size: number): AsyncGenerator<Buffer> {
	let left = size;
	if (size > 0)
		for await (const piece of createReadStream(path, { end: size - 1 }) as AsyncIterable<Buffer>) {
			left -= piece.length;
			yield piece;
		}
	if (left > 0) throw new Error(`${path} became shorter while it was read`);
}

/** A refusal that another attempt does not change. */
class RefusedError extends Error {}

async function repeated(
	attempt: () => Promise<void>,
	{ what, clock, random, signal }: Pick<JobFilesOptions, "clock" | "random" | "signal"> & { what: string },
): Promise<void> {
	for (let tries = 1; ; tries += 1) {
		signal().throwIfAborted();
		try {
			return await attempt();
		} catch (error) {
			signal().throwIfAborted();
			const { message } = error as Error;
			if (error instanceof RefusedError || tries === TRIES)
				throw new Error(`The file ${what} was not stored: ${message}`, { cause: error });
		}
		await clock.sleep(waitAfter(tries, BACKOFF, random), signal());
	}
}

/** Sends the file once. Throws a {@link RefusedError}, or an Error after which another attempt may succeed. */
async function send({
	bucket,
	url,
	type,
	content,
	date,
	signal,
}: Pick<JobFilesOptions, "date" | "signal"> & {
	bucket: Bucket;
	url: URL;
	type: string;
	content: Content;
}): Promise<void> {
	const headers = signedHeaders({
		method: "PUT",
		url,
		at: date(),
		credentials: bucket.credentials,
		sha256: content.sha256,
		headers: { "content-type": type, "content-length": String(content.bytes) },
	});
	const request = url.protocol === "https:" ? requestHttps : requestHttp;
	const sent = request(url, { method: "PUT", headers, signal: signal(), timeout: IDLE_MS, agent: false });
	sent.once("timeout", () => sent.destroy(new Error(`nothing arrived from ${url.host} within ${IDLE_MS / 1000} s`)));
	const answered = new Promise<IncomingMessage>((resolve, reject) => {
		sent.once("response", resolve);
		sent.on("error", reject);
	});
	// A service that refuses may answer, and end the connection, before it has read all.
	const written = pipeline(content.read(), sent).catch((error: unknown) => {
		sent.destroy(error as Error);
	});
	const answer = await answered;
	try {
		const { statusCode: status = 0 } = answer;
		if (status >= 200 && status < 300) {
			await written;
			return;
		}
		const text = `${url.host} answered with HTTP ${status}${reasonIn(await firstOf(answer))}`;
		throw status >= 500 || status === 429 ? new Error(text) : new RefusedError(text);
	} finally {
		answer.resume();
		sent.destroy();
	}
}

async function firstOf(answer: IncomingMessage): Promise<string> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of answer as AsyncIterable<Buffer>) {
		pieces.push(piece);
		bytes += piece.length;
		if (bytes >= REFUSAL_BYTES) break;
	}
	return Buffer.concat(pieces).toString("utf8");
}

/** What S3 says: `<Code>` and `<Message>`. */
function reasonIn(xml: string): string {
	const member = (name: string): string => new RegExp(`<${name}>([^<]{1,500})`).exec(xml)?.[1] ?? "";
	const [code, message] = [member("Code"), member("Message")];
	return `${code && ` ${code}`}${message && `: ${message}`}`;
}
