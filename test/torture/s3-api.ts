/** Signed requests of S3 clients (D59), and what their answers mean. */
import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import type { Answer, Api, Call } from "./api.ts";

export interface S3Answer extends Answer {
	/** S3's code of a refusal. */
	code: string | undefined;
}

/** Calls of one endpoint; `path` is `/bucket/key` with its query. */
export type S3 = (server: string, path: string, q?: Call) => Promise<S3Answer>;

/** Refusals that clients here ask for. Any other says that the request is wrong, and shows nothing of the service. */
const EXPECTED = new Set(["NoSuchBucket", "NoSuchKey", "NoSuchUpload", "InvalidPart", "PreconditionFailed"]);

/** With the credentials of the endpoint. Throws an error if the server does not give them. */
export async function s3Of(api: Api, endpoint: string): Promise<S3> {
	const { result, status, json } = await api.call(`${api.url(0)}/v1/endpoints/${endpoint}/s3`);
	if (result !== "ok") throw new Error(`no credentials of ${endpoint} for S3 clients: ${status}`);
	const { accessKeyId, secretAccessKey } = json as { accessKeyId: string; secretAccessKey: string };
	return async (server, path, q = {}) => {
		const { method = "GET", headers = {} } = q;
		const request = { method, url: `${server}/s3${path}`, headers, service: "s3", region: "us-east-1" };
		const { headers: signed } = await new AwsV4Signer({ ...request, accessKeyId, secretAccessKey }).sign();
		const answer = await api.call(request.url, {
			...q,
			method,
			headers: { "content-type": "text/plain", ...Object.fromEntries(signed) },
		});
		const code = /<Code>(\w+)<\/Code>/.exec(answer.result === "ok" ? "" : answer.text)?.[1];
		const isAnswer = answer.status !== undefined && answer.status !== LATE;
		if (answer.result === "fail" && isAnswer && !EXPECTED.has(code ?? ""))
			throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
		return { ...answer, code };
	};
}

/** The request was not complete in time, since its server or this process was stopped: nothing was done. */
const LATE = 408;

export interface ListedKey {
	key: string;
	etag: string;
	bytes: number;
}

export interface Page extends S3Answer {
	keys: ListedKey[];
	/** Keys up to this one are on this page or one before; undefined on the last page. */
	last: string | undefined;
}

/** A page of the keys behind one. A bucket that nothing was put into yet has none. */
export async function listPage(s3: S3, server: string, q: { bucket: string; after: string; limit: number }) {
	const { bucket, after, limit } = q;
	const answer = await s3(server, `/${bucket}?list-type=2&max-keys=${limit}&start-after=${after}`);
	const found = answer.text.matchAll(/<Key>([^<]+)<\/Key>.*?<ETag>(?:&quot;|")([^<"&]+).*?<Size>(\d+)</gs);
	const keys = Array.from(found, ([, key, etag, bytes]): ListedKey => {
		return { key: key!, etag: etag!, bytes: Number(bytes) };
	});
	const isWhole = !answer.text.includes("<IsTruncated>true<");
	return { ...answer, keys, last: isWhole ? undefined : keys.at(-1)?.key } satisfies Page;
}

/** Uploads of a bucket that are not complete; undefined without an answer. */
export async function listUploads(s3: S3, server: string, bucket: string) {
	const answer = await s3(server, `/${bucket}?uploads`);
	const found = answer.text.matchAll(/<Key>([^<]+)<\/Key><UploadId>([^<]+)</g);
	return { ...answer, uploads: Array.from(found, ([, key, id]) => ({ key: key!, id: id! })) };
}

const md5 = (text: string): Buffer => createHash("md5").update(text).digest();

export const etagOf = (content: string): string => md5(content).toString("hex");

/** The ETag of an upload of these parts. */
export function etagOfParts(parts: readonly string[]): string {
	const hash = createHash("md5");
	for (const part of parts) hash.update(md5(part));
	return `${hash.digest("hex")}-${parts.length}`;
}
