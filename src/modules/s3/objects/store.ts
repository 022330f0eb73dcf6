/** Stores and removes objects (D59): bytes first, then the row. Bytes whose row was removed are removed afterwards. */
import { ApiError } from "../../../kernel/core/errors.ts";
import type { StoredFiles } from "../../../kernel/engine/stored-files.ts";
import { uuidv7 } from "../../../kernel/lib/ids.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { type FileRow, PART } from "../../../kernel/store/contract/files.ts";
import type { NotStored, ObjectPlace, ObjectRow, PartRow } from "../../../kernel/store/contract/objects.ts";
import { rooms, storeRow } from "../../files/room.ts";
import { S3Error } from "../errors.ts";
import type { S3Settings } from "../settings.ts";

export type Objects = ReturnType<typeof createObjects>;

export interface ObjectsContext {
	kernel: Kernel;
	files: StoredFiles;
	settings: S3Settings;
}

/** Headers with which an object is answered, by name in lower case. */
export type ObjectHeaders = Readonly<Record<string, string>>;

export interface Source {
	pieces: AsyncIterable<Buffer>;
	/** Bytes, if they are known. */
	declared: number | undefined;
	/** MD5, after the last piece. */
	md5(): Buffer;
	/** Id of the key that sent it. */
	by: string;
}

type Put = ObjectPlace & { headers: ObjectHeaders; ifAbsent: boolean };

/** `add` throws when there is no room for the bytes that have arrived. */
async function* counted(pieces: AsyncIterable<Buffer>, add: (bytes: number) => Promise<void>): AsyncGenerator<Buffer> {
	for await (const piece of pieces) {
		await add(piece.length);
		yield piece;
	}
}

/** Keys whose objects one transaction removes. */
const KEYS_AT_ONCE = 100;

const MANY_UPLOADS = "The endpoint has 1000 uploads that are not complete. Complete or abort one.";

function refusal(outcome: Exclude<NotStored, object> | "too many uploads", endpoint: string): ApiError {
	if (outcome === "no endpoint") return new ApiError("endpoint_not_found", { endpoint });
	if (outcome === "exists") return new S3Error("PreconditionFailed", "The key has an object already.");
	if (outcome === "too many uploads") return new S3Error("QuotaExceeded", MANY_UPLOADS);
	return new S3Error("TooManyBuckets", "The endpoint has 1000 buckets. Delete one.");
}

export function createObjects({ kernel, files, settings }: ObjectsContext) {
	const { now, random, background } = kernel;
	const { objects } = kernel.store;
	const room = rooms(kernel.store.files, files.bounds);
	const { endpointBytes, totalBytes } = files.bounds;

	function free(freed: readonly string[]): void {
		if (freed.length === 0) return;
		const all = async (): Promise<void> => {
			for (const id of freed) await files.remove(id);
		};
		background.run("removing bytes of objects", all());
	}

	/** Writes the bytes and then their rows. */
	async function written<T extends { freed: string[] }>(
		endpoint: string,
		{ pieces, declared, by }: Source,
		insert: (row: FileRow) => Promise<T | { over: "endpoint" | "total"; bytes: number }>,
	): Promise<void> {
		const own = await room.open(endpoint, declared ?? 0);
		try {
			const file = await files.write(counted(pieces, own.add));
			const { id, bytes } = file;
			const type = "application/octet-stream";
			const row: FileRow = { id, endpoint, name: "object", purpose: PART, type, bytes, key: by, createdAt: now() };
			const outcome = await storeRow(own, file, async () => {
				const stored = await insert(row);
				if ("over" in stored) throw room.full(stored.over, { endpoint, stored: stored.bytes });
				return stored;
			});
			free(outcome.freed);
		} finally {
			own.close();
		}
	}

	const expiry = (createdAt: number): number | undefined =>
		settings.keepMs === undefined ? undefined : createdAt + settings.keepMs;

	return {
		free,
		expiry,

		/** Returns the object's row. Throws what the files' bounds say, `PreconditionFailed`, `TooManyBuckets`. */
		async put({ headers, ifAbsent, ...place }: Put, source: Source): Promise<ObjectRow> {
			let stored: ObjectRow | undefined;
			await written(place.endpoint, source, async (row) => {
				const { id, bytes, createdAt } = row;
				const etag = source.md5().toString("hex");
				const object: ObjectRow = {
					...{ ...place, content: id, bytes, etag, headers: JSON.stringify(headers), createdAt },
					expiresAt: expiry(createdAt),
				};
				const outcome = await objects.put({ object, file: row, ifAbsent, now: now(), endpointBytes, totalBytes });
				if (typeof outcome === "string") throw refusal(outcome, place.endpoint);
				stored = object;
				return outcome;
			});
			return stored!;
		},

		/** Throws `NoSuchUpload`. */
		async putPart(q: { endpoint: string; upload: string; number: number }, source: Source): Promise<PartRow> {
			const { endpoint, upload, number } = q;
			let stored: PartRow | undefined;
			await written(endpoint, source, async (row) => {
				const { id, bytes, createdAt } = row;
				const part = { number, file: id, bytes, etag: source.md5().toString("hex"), createdAt };
				const outcome = await objects.putPart({ upload, part, row, endpointBytes, totalBytes });
				if (outcome === "no upload") throw noUpload(upload);
				if (typeof outcome === "string") throw refusal(outcome, endpoint);
				stored = part;
				return outcome;
			});
			return stored!;
		},

		async copy(q: { from: ObjectPlace; to: ObjectPlace; headers: ObjectHeaders | undefined }) {
			const createdAt = now();
			const object = {
				...{ ...q.to, createdAt, expiresAt: expiry(createdAt) },
				headers: q.headers && JSON.stringify(q.headers),
			};
			const outcome = await objects.copy({ from: q.from, object, now: createdAt });
			if (outcome === "no object") throw noKey(q.from.key);
			if (typeof outcome === "string") throw refusal(outcome, q.to.endpoint);
			if ("over" in outcome) throw room.full(outcome.over, { endpoint: q.to.endpoint, stored: outcome.bytes });
			free(outcome.freed);
			return { etag: outcome.etag, createdAt };
		},

		/** Other changes of objects get their turn between two steps. */
		async remove({ endpoint, bucket, keys }: { endpoint: string; bucket: string; keys: readonly string[] }) {
			for (let at = 0; at < keys.length; ) {
				const { removed, freed } = await objects.remove({ endpoint, bucket, keys: keys.slice(at, at + KEYS_AT_ONCE) });
				free(freed);
				at += removed;
			}
		},

		async createUpload({ headers, ...place }: ObjectPlace & { headers: ObjectHeaders }): Promise<string> {
			const createdAt = now();
			const id = `upload-${uuidv7(createdAt, random).replaceAll("-", "")}`;
			const upload = { id, ...place, headers: JSON.stringify(headers), createdAt };
			const outcome = await objects.createUpload({ upload });
			if (outcome !== "created") throw refusal(outcome, place.endpoint);
			return id;
		},

		async createBucket(endpoint: string, name: string): Promise<void> {
			const outcome = await objects.createBucket({ endpoint, name, createdAt: now() });
			if (outcome !== "created") throw refusal(outcome, endpoint);
		},
	};
}

export function noKey(key: string): S3Error {
	return new S3Error("NoSuchKey", `There is no object '${key.slice(0, 200)}': it was not stored, or has expired.`);
}

export function noUpload(id: string): S3Error {
	return new S3Error(
		"NoSuchUpload",
		`There is no upload '${id.slice(0, 80)}' of this key: it was completed, aborted, or is older than two days.`,
	);
}
