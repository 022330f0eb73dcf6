/** Uploads in parts by S3 clients (D59): parts that are replaced, left out and repeated, completions, aborts. */
import type { UploadOp } from "./history.ts";
import { type ObjectUse, objectOf, pathOf, setsOf, type Stored } from "./object-use.ts";
import { etagOf, etagOfParts, type S3Answer } from "./s3-api.ts";

const MOST_PARTS = 4;

/** Parts of the uploads that are aborted, aborted and completed at once, and left as they are. */
const [ABORTED, CONTESTED, LEFT] = [0.2, 0.1, 0.05];

/** Uploads that stay open at a time: an endpoint has 1000 at most. */
const MOST_LEFT = 50;

/** Parts that are sent before with another content; uploads of which a part is not wanted; completions sent twice. */
const [REPLACED, UNWANTED, TWICE] = [0.3, 0.15, 0.3];

/** How often something without an answer is sent, and the pause between, ms. */
const [TRIES, RETRY_MS] = [60, 100];

interface Part {
	number: number;
	content: string;
}

interface Upload {
	by: string;
	at: Stored;
	id: string;
}

/** One upload to this key, to its end. */
export function openUploads(use: ObjectUse): (by: string, at: Stored) => Promise<void> {
	const { s3, time, tracker, random, whole, anyServer, newContent, changed, shown } = use;
	let serial = 0;
	const left: Upload[] = [];

	function record(
		{ by, at, id }: Upload,
		server: string,
		{ result, from, to, code }: S3Answer,
		what: Pick<UploadOp, "how" | "parts">,
	): void {
		const error = code === undefined ? {} : { error: code };
		const about = { object: objectOf(at), upload: id, ...what, ...error };
		tracker.record({ op: "upload", by, ...about, server, result, from, to });
	}

	/** Repeats what had no answer, perhaps at another server. */
	async function answered(send: (server: string) => Promise<S3Answer>): Promise<S3Answer> {
		for (let tries = 1; ; tries += 1) {
			const answer = await send(anyServer());
			if (answer.status !== undefined && answer.status < 500) return answer;
			if (tries === TRIES) return answer;
			await time.sleep(RETRY_MS);
		}
	}

	async function begin(by: string, at: Stored): Promise<Upload | undefined> {
		const { text } = await s3(anyServer(), `${pathOf(at)}?uploads`, { method: "POST" });
		const id = /<UploadId>([^<]+)</.exec(text)?.[1];
		return id === undefined ? undefined : { by, at, id };
	}

	const pathIn = ({ at, id }: Upload): string => `${pathOf(at)}?uploadId=${id}`;

	/** Whether it is stored. */
	async function sendPart(upload: Upload, { number, content }: Part): Promise<boolean> {
		const { result } = await answered(async (server) => {
			const path = `${pathIn(upload)}&partNumber=${number}`;
			const answer = await s3(server, path, { method: "PUT", body: content });
			record(upload, server, answer, { how: "part", parts: [[number, etagOf(content)]] });
			return answer;
		});
		return result === "ok";
	}

	/** Whether all of them are stored. */
	async function sendParts(upload: Upload, name: string, parts: readonly Part[]): Promise<boolean> {
		const sent = await Promise.all(
			parts.map(async (part) => {
				const earlier = { number: part.number, content: newContent(`${name}.${part.number}-earlier`) };
				if (random() < REPLACED && !(await sendPart(upload, earlier))) return false;
				return await sendPart(upload, part);
			}),
		);
		return sent.every(Boolean);
	}

	async function complete(upload: Upload, parts: readonly Part[]): Promise<void> {
		const contents = parts.map(({ content }) => content);
		const named = parts.map(({ number, content }): [number, string] => [number, etagOf(content)]);
		const each = named.map(([n, etag]) => `<Part><PartNumber>${n}</PartNumber><ETag>"${etag}"</ETag></Part>`);
		const body = `<CompleteMultipartUpload>${each.join("")}</CompleteMultipartUpload>`;
		const sets = setsOf(contents.join(""), etagOfParts(contents));
		const send = (): Promise<S3Answer> =>
			answered(async (server) => {
				const answer = await s3(server, pathIn(upload), { method: "POST", body });
				record(upload, server, answer, { how: "complete", parts: named });
				changed(upload.by, server, answer, { ...upload.at, how: "put", sets, upload: upload.id });
				const etag = /<ETag>(?:&quot;|")([^<"&]+)/.exec(answer.text)?.[1] ?? "none";
				if (answer.result === "ok") shown(upload.by, server, answer, upload.at, { members: { etag } });
				return answer;
			});
		const isTwice = random() < TWICE;
		const isTogether = isTwice && random() < 0.5;
		await Promise.all(isTogether ? [send(), send()] : [send()]);
		if (isTwice && !isTogether) await send();
	}

	async function abort(upload: Upload): Promise<void> {
		await answered(async (server) => {
			const answer = await s3(server, pathIn(upload), { method: "DELETE" });
			record(upload, server, answer, { how: "abort" });
			return answer;
		});
	}

	/** It stays open, and another one does no more. */
	async function leave(upload: Upload): Promise<void> {
		left.push(upload);
		if (left.length > MOST_LEFT) await abort(left.shift()!);
	}

	return async (by, at) => {
		const upload = await begin(by, at);
		if (!upload) return;
		const name = `u-${(serial += 1)}`;
		const parts = Array.from({ length: 1 + whole(MOST_PARTS) }, (_, n): Part => {
			return { number: n + 1, content: newContent(`${name}.${n + 1}`) };
		});
		if (!(await sendParts(upload, name, parts))) return await leave(upload);
		const isWithout = parts.length > 1 && random() < UNWANTED;
		const unwanted = isWithout ? whole(parts.length) : -1;
		const wanted = parts.filter((_, n) => n !== unwanted);
		const chance = random();
		if (chance < ABORTED) {
			await abort(upload);
			// What is removed is not completed, and takes no part.
			if (random() < 0.5) await complete(upload, wanted);
			else await sendPart(upload, parts[0]!);
		} else if (chance < ABORTED + CONTESTED) await Promise.all([abort(upload), complete(upload, wanted)]);
		else if (chance < ABORTED + CONTESTED + LEFT) await leave(upload);
		else await complete(upload, wanted);
	};
}
