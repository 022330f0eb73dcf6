/**
 * Bytes of files in a bucket of the operator (D61): one object for each file, named by its id, complete before the row
 * is stored. Files from before the bucket was configured are read from the place of the store.
 */
import { ApiError } from "../../../kernel/core/errors.ts";
import type { FileStore } from "../../../kernel/store/contract/files.ts";
import type { Bucket } from "../bucket/bucket.ts";
import { PART_BYTES } from "../bucket/parts.ts";
import { ERRORS } from "../errors.ts";
import { inBlocks } from "./blocks.ts";
import type { ContentWriter, FileContents } from "./contents.ts";

const NAME = /^file-[0-9a-f]{32}$/;

/** An object is removed when it had no row an hour before, too: at once it may be about to get one. */
const MOST_SUSPECTS = 10_000;
const ASKED = 100;

const LIST_MS = 86_400_000;

/** Longer than an upload takes that is not abandoned. */
const UPLOAD_MS = 7 * LIST_MS;

interface Context {
	rows: Pick<FileStore, "unknown">;
	/** Where files are that are not in the bucket. */
	earlier: () => Promise<FileContents>;
	/** Resolves when it is known that this is the bucket of the store. Throws `StoreUnavailable`. */
	confirmed: () => Promise<void>;
	/** Monotonic, ms. */
	now: () => number;
}

export function bucketContents(bucket: Bucket, { rows, earlier, confirmed, now }: Context): FileContents {
	/** Ids whose row may still be stored. */
	const writing = new Set<string>();
	/** Names that had no row, or whose row has expired. */
	let suspects = new Set<string>();
	let listedAt = Number.NEGATIVE_INFINITY;

	async function removeSuspects(signal: AbortSignal | undefined): Promise<void> {
		const all = [...suspects].filter((id) => !writing.has(id));
		for (let at = 0; at < all.length; at += ASKED) {
			const ids = all.slice(at, at + ASKED);
			for (const id of await rows.unknown({ ids })) await bucket.remove(id, signal);
			for (const id of ids) suspects.delete(id);
		}
	}

	async function list(signal: AbortSignal | undefined): Promise<void> {
		await bucket.abortOld(UPLOAD_MS, signal);
		for await (const names of bucket.list(signal)) {
			const ids = names.filter((name) => NAME.test(name) && !writing.has(name));
			for (let at = 0; at < ids.length; at += ASKED)
				for (const id of await rows.unknown({ ids: ids.slice(at, at + ASKED) })) suspects.add(id);
			// The next hour lists the rest.
			if (suspects.size > MOST_SUSPECTS) return;
		}
		listedAt = now();
	}

	return {
		memory: { upload: 2 * PART_BYTES, download: 256 * 1024 },

		async create(id) {
			await confirmed();
			writing.add(id);
			return writer(bucket, id, () => void writing.delete(id));
		},

		async open(file, range) {
			await confirmed();
			const found = await bucket.get(file.id, range);
			if (!found) return await (await earlier()).open(file, range);
			if (found.bytes === file.bytes) return found;
			await found.close();
			throw new ApiError(ERRORS.file_missing, { file: file.id });
		},

		async remove(id) {
			await (await earlier()).remove(id);
			// The sweep finds what cannot be removed now.
			await bucket.remove(id).catch(() => suspects.add(id));
		},

		expired(ids) {
			for (const id of ids) if (suspects.size < MOST_SUSPECTS) suspects.add(id);
		},

		async sweep(ageMs, signal) {
			await (await earlier()).sweep(ageMs, signal);
			await confirmed();
			await removeSuspects(signal);
			if (now() - listedAt >= LIST_MS) await list(signal);
		},
	};
}

/** A file that fits in a part is one request. */
function writer(bucket: Bucket, id: string, done: () => void): ContentWriter {
	const dropped = new AbortController();
	let upload: Awaited<ReturnType<Bucket["begin"]>> | undefined;
	let isPut = false;
	const blocks = inBlocks(PART_BYTES, async (block) => {
		if (!upload && block.length < PART_BYTES) {
			isPut = true;
			await bucket.put(id, block, dropped.signal);
			return;
		}
		upload ??= await bucket.begin(id, dropped.signal);
		await upload.part(block);
	});
	return {
		write: blocks.write,
		async finish() {
			await blocks.end();
			if (upload) await upload.complete();
			else if (!isPut) {
				isPut = true;
				await bucket.put(id, Buffer.alloc(0), dropped.signal);
			}
		},
		done,
		async drop() {
			done();
			dropped.abort();
			await upload?.abort();
			// The sweep finds what cannot be removed now.
			if (upload || isPut) await bucket.remove(id).catch(() => {});
		},
	};
}
