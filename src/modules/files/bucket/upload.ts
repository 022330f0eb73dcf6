/** An object of several parts, which is seen when it is completed (D61). */
import type { BucketClient } from "./client.ts";
import { Refusal, unavailable } from "./refusal.ts";
import { elementsOf, textOf } from "./xml.ts";

/** The server may need this to put the parts of a large file together, ms. */
const COMPLETION_MS = 120_000;
/** The sweep repeats what takes longer, ms. */
const ABORT_MS = 10_000;

export type Upload = Awaited<ReturnType<typeof beginUpload>>;

/** `name`: of the bucket, for sentences. `sizeOf`: bytes of the whole object, undefined if there is none. */
export async function beginUpload(
	client: BucketClient,
	{ name, key, signal, sizeOf }: { name: string; key: string; signal: AbortSignal; sizeOf: () => Promise<unknown> },
) {
	async function tried<T>(method: string, work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			throw unavailable(error, name, method);
		}
	}

	const uploadId = await tried("POST", async () => {
		const { text } = await client.text({ method: "POST", key, query: { uploads: "" }, signal });
		const id = textOf(text, "UploadId");
		if (id) return id;
		throw new Refusal(200, "NoUploadId");
	});
	const etags: string[] = [];
	let bytes = 0;

	async function complete(): Promise<void> {
		const q = { key, query: { uploadId }, body: Buffer.from(completion(etags)), signal, answerMs: COMPLETION_MS };
		try {
			const { text } = await client.text({ method: "POST", ...q });
			if (text.includes("CompleteMultipartUploadResult")) return;
			// S3 begins the answer before it knows the outcome.
			throw new Refusal(500, textOf(text, "Code") ?? "");
		} catch (error) {
			// The answer to an earlier try may have been lost.
			if ((await sizeOf().catch(() => undefined)) !== bytes) throw error;
		}
	}

	return {
		/** Sends the next part. `body` must stay as it is until then. */
		async part(body: Uint8Array): Promise<void> {
			const query = { uploadId, partNumber: String(etags.length + 1) };
			const { headers } = await tried("PUT", () => client.text({ method: "PUT", key, query, body, signal }));
			etags.push(String(headers["etag"]));
			bytes += body.length;
		},
		complete: () => tried("POST", complete),
		/** Throws nothing: the sweep finds what cannot be given up now. */
		async abort(): Promise<void> {
			const q = { key, query: { uploadId }, once: true, answerMs: ABORT_MS };
			await client.text({ method: "DELETE", ...q }).catch(() => {});
		},
	};
}

/** Gives up uploads of keys that begin with `path`. Throws what calls of the client throw. */
export async function abortOldUploads(
	client: BucketClient,
	{ path, ageMs, signal }: { path: string; ageMs: number; signal: AbortSignal | undefined },
): Promise<void> {
	const query = { uploads: "", prefix: path };
	const { text, headers } = await client.text({ method: "GET", key: "", query, signal });
	const before = Date.parse(String(headers["date"])) - ageMs;
	for (const each of elementsOf(text, "Upload")) {
		const [key = "", uploadId = ""] = [textOf(each, "Key"), textOf(each, "UploadId")];
		if (!key.startsWith(path) || !(Date.parse(textOf(each, "Initiated") ?? "") < before)) continue;
		const q = { key, query: { uploadId }, signal, once: true, answerMs: ABORT_MS };
		await client.text({ method: "DELETE", ...q }).catch(() => {});
	}
}

function completion(etags: readonly string[]): string {
	const parts = etags.map(
		(etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag.replaceAll('"', "&quot;")}</ETag></Part>`,
	);
	const namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
	return `<CompleteMultipartUpload xmlns="${namespace}">${parts.join("")}</CompleteMultipartUpload>`;
}
