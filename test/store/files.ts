/** Cases: files that clients uploaded, their totals, and their bytes where the store has them in rows (D56). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { uuidv7 } from "../../src/kernel/lib/ids.ts";
import { type FileRow, PIECE_BYTES } from "../../src/kernel/store/contract/files.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

export const fileRow = (given: Partial<FileRow> & { endpoint: string }): FileRow => ({
	id: `file-${uuidv7(given.createdAt ?? T0, randomBytes).replaceAll("-", "")}`,
	name: "a.txt",
	purpose: "user_data",
	type: "text/plain",
	bytes: 1,
	key: "k",
	createdAt: T0,
	...given,
});

const ROOM = { endpointBytes: 1000, totalBytes: 1000 };

async function inserted({ files }: Store, given: Partial<FileRow> & { endpoint: string }): Promise<FileRow> {
	const row = fileRow(given);
	expect(await files.insert({ row, ...ROOM })).toBe("inserted");
	return row;
}

async function removeEndpoint({ endpoints }: Store, id: string): Promise<void> {
	await endpoints.remove({ id });
	expect(await endpoints.forget({ id, now: T0 })).toBe(true);
}

export function fileCases({ open }: Bed): void {
	/** With endpoints `a` and `b`. */
	const stored = (run: (store: Store) => Promise<void>): Promise<void> =>
		alone(open, async ({ store }) => {
			for (const id of ["a", "b"]) await store.endpoints.put({ id, settings: "{}", now: T0 });
			await run(store);
		});

	it("D56: a file is found as it was stored, at its endpoint alone, until it is removed", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a", name: "ü 'x' \".jsonl", expiresAt: T0 + 10 });
			const bare = await inserted(store, { endpoint: "a" });
			const at = { endpoint: "a", now: T0 };
			expect(await store.files.find({ ...at, id: row.id })).toEqual(row);
			expect(await store.files.find({ ...at, id: bare.id })).toEqual(bare);
			for (const other of [{ endpoint: "b" }, { id: "none" }, { id: "odd \u0000" }]) {
				const q = { ...at, id: row.id, ...other };
				expect([await store.files.find(q), await store.files.remove(q)]).toEqual([undefined, undefined]);
			}
			expect(await store.files.unknown({ ids: ["none", row.id] })).toEqual(["none"]);
			expect(await store.files.remove({ ...at, id: row.id })).toEqual(row);
			expect(await store.files.remove({ ...at, id: row.id })).toBeUndefined();
			expect(await store.files.totals()).toEqual([{ endpoint: "a", files: 1, bytes: 1 }]);
		}));

	it("D56: a list has pages by age, in both orders, and goes on behind a file that was removed", () =>
		stored(async (store) => {
			const rows: FileRow[] = [];
			for (let n = 0; n < 5; n += 1)
				rows.push(await inserted(store, { endpoint: "a", createdAt: T0 + n, purpose: n === 2 ? "batch" : "vision" }));
			await inserted(store, { endpoint: "b" });
			const ids = rows.map(({ id }) => id);
			const page = async (q: { order: "asc" | "desc"; after?: string; limit?: number; purpose?: string }) => {
				const { files, more } = await store.files.list({ endpoint: "a", limit: 2, now: T0, ...q });
				return [files.map(({ id }) => ids.indexOf(id)), more];
			};
			expect(await page({ order: "asc" })).toEqual([[0, 1], true]);
			expect(await page({ order: "desc" })).toEqual([[4, 3], true]);
			expect(await page({ order: "desc", after: ids[1]! })).toEqual([[0], false]);
			await store.files.remove({ endpoint: "a", id: ids[1]!, now: T0 });
			expect(await page({ order: "asc", after: ids[1]! })).toEqual([[2, 3], true]);
			expect(await page({ order: "asc", purpose: "vision", limit: 3 })).toEqual([[0, 3, 4], false]);
			expect(await page({ order: "desc", purpose: "vision", after: ids[3]! })).toEqual([[0], false]);
			expect(await page({ order: "asc", purpose: "none" })).toEqual([[], false]);
		}));

	it("D56: bounds are those of an endpoint and of all together, also for files that are stored at once", () =>
		stored(async (store) => {
			const insert = (endpoint: string, bytes: number, bounds: Partial<typeof ROOM>) =>
				store.files.insert({ row: fileRow({ endpoint, bytes }), ...ROOM, ...bounds });
			expect(await insert("a", 10, { endpointBytes: 10 })).toBe("inserted");
			expect(await insert("a", 1, { endpointBytes: 10 })).toEqual({ over: "endpoint", bytes: 10 });
			expect(await insert("b", 6, { totalBytes: 15 })).toEqual({ over: "total", bytes: 10 });
			const both = await Promise.all([insert("a", 3, { totalBytes: 15 }), insert("b", 3, { totalBytes: 15 })]);
			expect(both.filter((each) => each === "inserted")).toHaveLength(1);
			const bytes = (await store.files.totals()).reduce((sum, each) => sum + each.bytes, 0);
			expect(bytes).toBe(13);
		}));

	it("D56: an expired file is missing at once, counts until it is removed, and its id is returned then", () =>
		stored(async (store) => {
			const early = await inserted(store, { endpoint: "a", bytes: 5, expiresAt: T0 + 10 });
			const late = await inserted(store, { endpoint: "a", bytes: 7, expiresAt: T0 + 20 });
			await inserted(store, { endpoint: "a" });
			const now = T0 + 10;
			expect(await store.files.find({ endpoint: "a", id: early.id, now })).toBeUndefined();
			expect(await store.files.remove({ endpoint: "a", id: early.id, now })).toBeUndefined();
			const { files } = await store.files.list({ endpoint: "a", order: "asc", limit: 9, now });
			expect(files).toHaveLength(2);
			expect(await store.files.totals()).toEqual([{ endpoint: "a", files: 3, bytes: 13 }]);
			expect(await store.files.expire({ now: T0 + 9, limit: 9 })).toEqual([]);
			expect(await store.files.expire({ now: T0 + 30, limit: 1 })).toEqual([early.id]);
			expect(await store.files.expire({ now: T0 + 30, limit: 9 })).toEqual([late.id]);
			expect(await store.files.totals()).toEqual([{ endpoint: "a", files: 1, bytes: 1 }]);
		}));

	it("D39, D56: files go with their endpoint, and none is stored for one that is being removed", () =>
		stored(async (store) => {
			const lost = await inserted(store, { endpoint: "a" });
			const kept = await inserted(store, { endpoint: "b" });
			await store.endpoints.remove({ id: "a" });
			const row = fileRow({ endpoint: "a" });
			expect(await store.files.insert({ row, ...ROOM })).toBe("no endpoint");
			expect(await store.files.insert({ row: { ...row, endpoint: "none" }, ...ROOM })).toBe("no endpoint");
			await removeEndpoint(store, "a");
			expect(await store.files.unknown({ ids: [lost.id, kept.id] })).toEqual([lost.id]);
			expect(await store.files.totals()).toEqual([{ endpoint: "b", files: 1, bytes: 1 }]);
			expect(await store.files.expire({ now: T0, limit: 9 })).toEqual([]);
		}));

	it("D56: pieces are returned byte for byte; those without a row are removed an hour after the last one", () =>
		alone(open, async ({ store }) => {
			const { pieces } = store;
			if (!pieces) return expect(store.filesFolder?.path).toMatch(/\.files$/);
			await store.endpoints.put({ id: "a", settings: "{}", now: T0 });
			const { id } = await inserted(store, { endpoint: "a" });
			const whole = randomBytes(PIECE_BYTES);
			await pieces.put({ file: id, number: 0, bytes: whole, now: T0 });
			await pieces.put({ file: id, number: 1, bytes: Buffer.from("first"), now: T0 });
			await pieces.put({ file: id, number: 1, bytes: Buffer.from("again"), now: T0 });
			const get = async (file: string, number: number): Promise<Buffer | undefined> => {
				const into = Buffer.alloc(PIECE_BYTES);
				const bytes = await pieces.get({ file, number, into });
				return bytes === undefined ? undefined : into.subarray(0, bytes);
			};
			expect((await get(id, 0))?.equals(whole)).toBe(true);
			expect(String(await get(id, 1))).toBe("again");
			expect(await get(id, 2)).toBeUndefined();
			const slow = { file: "slow", bytes: Buffer.from("x") };
			for (const number of [0, 1]) await pieces.put({ ...slow, number, now: T0 + number * 100 });
			for (const number of [0, 1]) await pieces.put({ ...slow, file: "old", number, now: T0 });
			expect([await pieces.sweep({ before: T0 + 50 }), await pieces.sweep({ before: T0 + 50 })]).toEqual([2, 0]);
			expect(await pieces.touch({ file: "slow", now: T0 + 200 })).toBe(2);
			expect(await pieces.sweep({ before: T0 + 101 })).toBe(0);
			expect(await get("slow", 0)).toBeDefined();
			expect(await pieces.sweep({ before: T0 + 201 })).toBe(2);
			expect(await pieces.touch({ file: "slow", now: T0 })).toBe(0);
			expect(await get(id, 0)).toBeDefined();
			await pieces.remove({ file: id });
			expect(await get(id, 0)).toBeUndefined();
			// Many are removed in steps: a statement for all of a large file would outlast its time limit.
			const large = { bytes: Buffer.from("x"), now: T0 };
			for (let number = 0; number < 130; number += 1)
				for (const file of ["swept", "removed"]) await pieces.put({ ...large, file, number });
			await pieces.remove({ file: "removed" });
			expect(await get("removed", 129)).toBeUndefined();
			const removed: number[] = [];
			do removed.push(await pieces.sweep({ before: T0 + 1 }));
			while (removed.at(-1)! > 0);
			expect(removed).toEqual([64, 64, 2, 0]);
		}));
}
