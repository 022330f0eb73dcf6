/** Objects of the bucket, and what of S3 is needed for them (D61). All names are below the folder of this store. */
import type { ByteRange } from "../../../kernel/engine/stored-files.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import { type Answer, bucketClient } from "./client.ts";
import { type BucketPieces, piecesOf } from "./download.ts";
import { Refusal, unavailable } from "./refusal.ts";
import type { BucketSettings } from "./settings.ts";
import { abortOldUploads, beginUpload, type Upload } from "./upload.ts";
import { elementsOf, textOf } from "./xml.ts";

/** Deletions have callers who wait, and are repeated by the sweep, ms. */
const REMOVAL_MS = 10_000;

export type Bucket = ReturnType<typeof openBucket>;

/** Undefined for an answer of 404 with this code. */
async function orMissing<T>(work: () => Promise<T>, code = "NoSuchKey"): Promise<T | undefined> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof Refusal && error.status === 404 && error.code === code) return undefined;
		throw error;
	}
}

/** All calls throw `StoreUnavailable`. `folder`: of this store, below the prefix, with a slash at its end. */
export function openBucket(settings: BucketSettings, folder: string, clock: Pick<Clock, "sleep" | "wall">) {
	const client = bucketClient(settings, clock);
	const path = settings.prefix + folder;
	const name = `${client.name}/${path}`;
	const keyOf = (object: string): string => path + object;

	async function tried<T>(method: string, work: () => Promise<T>): Promise<T> {
		try {
			return await work();
		} catch (error) {
			throw unavailable(error, name, method);
		}
	}

	/** The answer to HEAD has no code. */
	const sizeOf = (object: string): Promise<number | undefined> =>
		orMissing(async () => {
			const { headers } = await client.text({ method: "HEAD", key: keyOf(object) });
			return Number(headers["content-length"]);
		}, "");

	const put = async (object: string, body: Uint8Array, signal?: AbortSignal): Promise<void> => {
		await tried("PUT", () => client.text({ method: "PUT", key: keyOf(object), body, signal }));
	};

	const getRange = (object: string, { start, end }: ByteRange): Promise<Answer | undefined> =>
		tried("GET", () =>
			orMissing(async () => {
				const answer = await client.open({ method: "GET", key: keyOf(object), range: `bytes=${start}-${end - 1}` });
				// The loop that reads it reports an error; that of a body which is given up says nothing.
				answer.body.on("error", () => {});
				if (answer.statusCode === 206) return answer;
				answer.body.destroy();
				throw new Refusal(answer.statusCode, "RangeIgnored");
			}),
		);

	/** An object without bytes to read: of another size than the caller knows, or empty. */
	async function unread(object: string): Promise<BucketPieces | undefined> {
		const bytes = await tried("HEAD", () => sizeOf(object));
		return bytes === undefined ? undefined : { bytes, close: async () => {}, async *[Symbol.asyncIterator]() {} };
	}

	return {
		/** Address, bucket and folder. */
		name,
		put,

		/** Begins an object of several parts, which is seen when it is completed. */
		begin: (object: string, signal: AbortSignal): Promise<Upload> =>
			beginUpload(client, { name, key: keyOf(object), signal, sizeOf: () => sizeOf(object) }),

		/** Undefined if there is no such object. A connection that breaks in the middle is made again. */
		async get(object: string, range: ByteRange): Promise<BucketPieces | undefined> {
			if (range.start >= range.end) return await unread(object);
			const answer = await getRange(object, range).catch((error: unknown) => {
				const { cause } = error as Error;
				if (cause instanceof Refusal && cause.status === 416) return "cut off" as const;
				throw error;
			});
			if (answer === "cut off") return await unread(object);
			return (
				answer &&
				piecesOf(answer, range, {
					async again(start) {
						const rest = await getRange(object, { start, end: range.end });
						if (rest) return rest;
						throw unavailable(new Refusal(404, "NoSuchKey"), name, "GET");
					},
					fault: (error) => unavailable(error, name, "GET"),
				})
			);
		},

		/** Sent only once. */
		async remove(object: string, signal?: AbortSignal): Promise<void> {
			const q = { key: keyOf(object), signal, once: true, answerMs: REMOVAL_MS };
			await tried("DELETE", () => orMissing(() => client.text({ method: "DELETE", ...q })));
		},

		/** Names of all objects, by page. */
		async *list(signal?: AbortSignal): AsyncGenerator<string[], void> {
			let token: string | undefined;
			do {
				const query = { "list-type": "2", prefix: path, "max-keys": "1000" };
				const more: Record<string, string> = token === undefined ? {} : { "continuation-token": token };
				const { text } = await tried("GET", () =>
					client.text({ method: "GET", key: "", query: { ...query, ...more }, signal }),
				);
				yield elementsOf(text, "Contents").flatMap((each) => {
					const key = textOf(each, "Key") ?? "";
					return key.startsWith(path) ? [key.slice(path.length)] : [];
				});
				token = textOf(text, "IsTruncated") === "true" ? textOf(text, "NextContinuationToken") : undefined;
			} while (token !== undefined);
		},

		/** Gives up uploads in parts that began over `ageMs` ago by the clock of the bucket. */
		abortOld: (ageMs: number, signal?: AbortSignal): Promise<void> =>
			tried("GET", () => abortOldUploads(client, { path, ageMs, signal })),

		close: () => client.close(),
	};
}
