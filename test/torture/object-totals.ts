/** What objects of S3 clients hold of the files of an endpoint, as lists show it (D59). */
import type { FileTotal } from "./history.ts";
import { listPage, listUploads, type S3 } from "./s3-api.ts";

const PAGE = 1000;

/** Copies share their files; each part of a content is one. Undefined without an answer. */
export async function objectTotals(s3: S3, server: string): Promise<FileTotal | undefined> {
	const total = { files: 0, bytes: 0 };
	const { result, text } = await s3(server, "/");
	if (result !== "ok") return undefined;
	const contents = new Map<string, number>();
	for (const [, bucket] of text.matchAll(/<Bucket><Name>([^<]+)</g)) {
		for (let after: string | undefined = ""; after !== undefined; ) {
			const page = await listPage(s3, server, { bucket: bucket!, after, limit: PAGE });
			if (page.result !== "ok") return undefined;
			for (const { etag, bytes } of page.keys) contents.set(etag, bytes);
			after = page.last;
		}
		const open = await listUploads(s3, server, bucket!);
		if (open.result !== "ok") return undefined;
		for (const { key, id } of open.uploads) {
			const parts = await s3(server, `/${bucket}/${key}?uploadId=${id}`);
			if (parts.result !== "ok") return undefined;
			for (const [, bytes] of parts.text.matchAll(/<Size>(\d+)</g)) add(total, 1, Number(bytes));
		}
	}
	// The ETag of an upload in parts ends with their number.
	for (const [etag, bytes] of contents) add(total, Number(etag.split("-")[1] ?? 1), bytes);
	return total;
}

function add(total: FileTotal, files: number, bytes: number): void {
	total.files += files;
	total.bytes += bytes;
}
