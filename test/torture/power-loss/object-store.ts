/** Objects of a store (D59), with the code that stores them for S3 clients, without a server around it. */
import { createHash, randomBytes } from "node:crypto";
import type { Kernel } from "../../../src/kernel/module.ts";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { folderContents } from "../../../src/modules/files/contents/folder.ts";
import { lentFiles } from "../../../src/modules/files/lent.ts";
import { filesSettings } from "../../../src/modules/files/settings.ts";
import { s3Settings } from "../../../src/modules/s3/settings.ts";
import { createObjects, type Source } from "../../../src/modules/s3/objects/store.ts";
import { T0 } from "../../store/site.ts";

export const BUCKET = "bucket";

/** As bytes of a client arrive. */
const PIECE_BYTES = 64 * 1024;

export type ObjectStore = ReturnType<typeof objectStore>;
type Part = [number: number, etag: string];

const md5 = (bytes: Buffer): Buffer => createHash("md5").update(bytes).digest();

export const etagOf = (bytes: Buffer): string => md5(bytes).toString("hex");

function sourceOf(bytes: Buffer): Source {
	async function* pieces(): AsyncGenerator<Buffer> {
		for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
	}
	return { pieces: pieces(), declared: bytes.length, md5: () => md5(bytes), by: "k" };
}

export function objectStore(store: Store, endpoint: string) {
	const removals: Promise<unknown>[] = [];
	const kernel = {
		...{ now: () => T0, random: randomBytes, clock: systemClock, space: { admit() {} }, store },
		background: { run: (_: string, task: Promise<unknown>) => void removals.push(task) },
	} as unknown as Kernel;
	const contents = folderContents(store.filesFolder!, store.files, systemClock);
	const files = { ...lentFiles({ kernel, contents }), bounds: filesSettings({}) };
	const objects = createObjects({ kernel, files, settings: s3Settings({}) });
	const at = (key: string) => ({ endpoint, bucket: BUCKET, key });

	function freed<T extends { freed: string[] }>(outcome: T | string | { badPart: number }): void {
		if (typeof outcome === "string" || "badPart" in outcome) throw new Error(`refused: ${JSON.stringify(outcome)}`);
		objects.free(outcome.freed);
	}

	return {
		put: (key: string, bytes: Buffer) => objects.put({ ...at(key), headers: {}, ifAbsent: false }, sourceOf(bytes)),
		copy: (from: string, to: string) => objects.copy({ from: at(from), to: at(to), headers: undefined }),
		async remove(key: string): Promise<void> {
			freed(await store.objects.remove({ endpoint, bucket: BUCKET, keys: [key] }));
		},
		begin: (key: string): Promise<string> => objects.createUpload({ ...at(key), headers: {} }),
		putPart: (upload: string, number: number, bytes: Buffer) =>
			objects.putPart({ endpoint, upload, number }, sourceOf(bytes)),
		async complete(key: string, upload: string, parts: readonly Part[]): Promise<void> {
			const own = {
				content: upload,
				etag: "of its parts",
				headers: "{}",
				createdAt: T0,
				expiresAt: objects.expiry(T0),
			};
			const wanted = parts.map(([number, etag]) => ({ number, etag }));
			const { maxBytes } = files.bounds;
			const q = { object: { ...at(key), ...own }, parts: wanted, maxBytes, ifAbsent: false, now: T0 };
			freed(await store.objects.complete(q));
		},
		async abort(key: string, upload: string): Promise<void> {
			freed(await store.objects.abort({ ...at(key), id: upload }));
		},
		/** Resolves when the bytes of what was replaced are removed. */
		removed: () => Promise.all(removals),
	};
}
