/** Cases: batches of requests, and the files that change with them (D57). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { uuidv7 } from "../../src/kernel/lib/ids.ts";
import type { BatchRow, FileChange } from "../../src/kernel/store/contract/batches.ts";
import { type FileRow, PART } from "../../src/kernel/store/contract/files.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { fileRow } from "./files.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

export const batchRow = (given: Partial<BatchRow> & { endpoint: string }): BatchRow => ({
	id: `batch_${uuidv7(given.createdAt ?? T0, randomBytes).replaceAll("-", "")}`,
	key: "k",
	createdAt: T0,
	isOpen: true,
	version: 1,
	fingerprint: randomBytes(32).toString("hex"),
	progress: "{}",
	...given,
});

const ROOM = { endpointBytes: 1000, totalBytes: 1000 };

async function inserted({ batches }: Store, given: Partial<BatchRow> & { endpoint: string }): Promise<BatchRow> {
	const row = batchRow(given);
	expect(await batches.insert({ row, repeatsSince: T0 })).toEqual({ batch: row, repeated: false });
	return row;
}

/** A part, whose row is not stored yet. */
const part = (bytes: number): FileRow => fileRow({ endpoint: "a", purpose: PART, bytes });

/** Replaces the progress of the version. */
function replaced({ batches }: Store, { endpoint, id, version }: BatchRow, files?: Partial<FileChange>) {
	const change = files && { insert: [], remove: [], ...ROOM, ...files };
	return batches.replace({ endpoint, id, version, isOpen: true, progress: `{"after":${version}}`, files: change });
}

export function batchCases({ open }: Bed): void {
	/** With endpoints `a` and `b`. */
	const stored = (run: (store: Store) => Promise<void>): Promise<void> =>
		alone(open, async ({ store }) => {
			for (const id of ["a", "b"]) await store.endpoints.put({ id, settings: "{}", now: T0 });
			await run(store);
		});

	it("D57: a batch is found as it was stored, at its endpoint alone", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a", progress: '{"text":"ü \\u0000"}' });
			const odd = await inserted(store, { endpoint: "a", isOpen: false, cancelledAt: T0 + 1, version: 7 });
			expect(await store.batches.find({ endpoint: "a", id: row.id })).toEqual({ ...row, cancelledAt: undefined });
			expect(await store.batches.find({ endpoint: "a", id: odd.id })).toEqual(odd);
			for (const other of [{ endpoint: "b" }, { id: "none" }, { id: "odd \u0000" }])
				expect(await store.batches.find({ endpoint: "a", id: row.id, ...other })).toBeUndefined();
		}));

	it("D57: a repeat returns the earlier batch, also at once, unless that is of another endpoint or too old", () =>
		stored(async (store) => {
			const fingerprint = "f".repeat(64);
			const ask = (given: Partial<BatchRow>, repeatsSince = T0) =>
				store.batches.insert({ row: batchRow({ endpoint: "a", fingerprint, ...given }), repeatsSince });
			const answers = await Promise.all(Array.from({ length: 4 }, () => ask({})));
			expect(answers.filter((each) => each?.repeated === false)).toHaveLength(1);
			expect(new Set(answers.map((each) => each?.batch.id)).size).toBe(1);
			expect(await ask({ endpoint: "b" })).toMatchObject({ repeated: false });
			expect(await ask({ createdAt: T0 + 10 })).toMatchObject({ repeated: true });
			const later = await ask({ createdAt: T0 + 10 }, T0 + 1);
			expect(later).toMatchObject({ repeated: false });
			expect(await ask({ createdAt: T0 + 20 })).toMatchObject({ repeated: true, batch: { id: later?.batch.id } });
			expect((await store.batches.list({ endpoint: "a", limit: 9 })).batches).toHaveLength(2);
		}));

	it("D57: lists have pages, newest first, and go on behind a batch that is removed", () =>
		stored(async (store) => {
			const ids: string[] = [];
			for (let n = 0; n < 4; n += 1)
				ids.push((await inserted(store, { endpoint: "a", createdAt: T0 + n, isOpen: n !== 1 })).id);
			await inserted(store, { endpoint: "b" });
			const page = async (q: { after?: string; limit: number }) => {
				const { batches, more } = await store.batches.list({ endpoint: "a", ...q });
				return [batches.map(({ id }) => ids.indexOf(id)), more];
			};
			expect(await page({ limit: 2 })).toEqual([[3, 2], true]);
			expect(await page({ limit: 4 })).toEqual([[3, 2, 1, 0], false]);
			expect(await store.batches.expire({ before: T0 + 9, limit: 9 })).toBe(1);
			expect(await page({ after: ids[1]!, limit: 2 })).toEqual([[0], false]);
			expect(await page({ after: ids[0]!, limit: 2 })).toEqual([[], false]);
		}));

	it("D57: open batches are those of all endpoints, oldest first", () =>
		stored(async (store) => {
			const second = await inserted(store, { endpoint: "a", createdAt: T0 + 2 });
			const first = await inserted(store, { endpoint: "b", createdAt: T0 + 1 });
			await inserted(store, { endpoint: "a", isOpen: false });
			const ids = async (limit: number) => (await store.batches.open({ limit })).map(({ id }) => id);
			expect(await ids(9)).toEqual([first.id, second.id]);
			expect(await ids(1)).toEqual([first.id]);
			await store.batches.cancel({ ...first, now: T0 + 3 });
			const { endpoint, id, version } = first;
			expect(await store.batches.open({ limit: 1 })).toEqual([{ endpoint, id, version, cancelledAt: T0 + 3 }]);
			await store.batches.replace({ endpoint, id, version, isOpen: false, progress: "{}" });
			expect(await ids(9)).toEqual([second.id]);
		}));

	it("D57: of two replacements of one version, one is done; a stale one changes nothing, and no file", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a" });
			const [kept, lost] = [part(1), part(2)];
			expect(await replaced(store, row, { insert: [kept] })).toBe("replaced");
			const find = () => store.batches.find(row);
			expect(await find()).toEqual({ ...row, cancelledAt: undefined, version: 2, progress: '{"after":1}' });
			expect(await replaced(store, row, { insert: [lost], remove: [kept.id] })).toBe("stale");
			expect(await find()).toMatchObject({ version: 2, progress: '{"after":1}' });
			expect(await store.files.unknown({ ids: [kept.id, lost.id] })).toEqual([lost.id]);
			const both = await Promise.all([1, 2].map(() => replaced(store, { ...row, version: 2 })));
			expect(new Set(both)).toEqual(new Set(["replaced", "stale"]));
			expect(await find()).toMatchObject({ version: 3 });
			for (const other of [{ endpoint: "b" }, { id: "none" }])
				expect(await replaced(store, { ...row, version: 3, ...other }, { insert: [lost] })).toBe("stale");
			expect(await store.files.totals()).toEqual([{ endpoint: "a", files: 1, bytes: 1 }]);
		}));

	it("D57: one file replaces all parts at once, however many bytes are stored if there will be no more", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a" });
			const parts = [part(3), part(4)];
			await replaced(store, row, { insert: parts });
			const foreign = fileRow({ endpoint: "b" });
			await store.files.insert({ row: foreign, ...ROOM });
			const remove = [...parts, foreign, { id: "none" }].map(({ id }) => id);
			const whole = fileRow({ endpoint: "a", bytes: 7 });
			const change = { insert: [whole], remove, endpointBytes: 1, totalBytes: 1 };
			expect(await replaced(store, { ...row, version: 2 }, change)).toBe("replaced");
			const ids = [...parts, whole, foreign].map(({ id }) => id);
			expect(await store.files.unknown({ ids })).toEqual(parts.map(({ id }) => id));
			expect(await store.files.find({ endpoint: "a", id: whole.id, now: T0 })).toEqual(whole);
			expect(await store.files.totals()).toEqual([
				{ endpoint: "a", files: 1, bytes: 7 },
				{ endpoint: "b", files: 1, bytes: 1 },
			]);
		}));

	it("D57: files that do not fit change nothing; those that are removed make room", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a" });
			const old = part(6);
			await replaced(store, row, { insert: [old] });
			await store.files.insert({ row: fileRow({ endpoint: "b", bytes: 3 }), ...ROOM });
			const next = { ...row, version: 2 };
			const insert = [part(4), part(4)];
			const remove = [old.id, old.id];
			expect(await replaced(store, next, { insert, endpointBytes: 10 })).toEqual({ over: "endpoint", bytes: 6 });
			expect(await replaced(store, next, { insert, remove, endpointBytes: 7 })).toEqual({ over: "endpoint", bytes: 6 });
			expect(await replaced(store, next, { insert, remove, totalBytes: 10 })).toEqual({ over: "total", bytes: 9 });
			expect(await store.batches.find(row)).toMatchObject({ version: 2, progress: '{"after":1}' });
			expect(await store.files.unknown({ ids: [old, ...insert].map(({ id }) => id) })).toHaveLength(2);
			const bounds = { endpointBytes: 8, totalBytes: 11 };
			expect(await replaced(store, next, { insert, remove, ...bounds })).toBe("replaced");
			expect((await store.files.totals())[0]).toEqual({ endpoint: "a", files: 2, bytes: 8 });
		}));

	it("D57: no list has parts, which count and are found like other files", () =>
		stored(async (store) => {
			const hidden = part(2);
			const shown = fileRow({ endpoint: "a" });
			for (const row of [hidden, shown]) await store.files.insert({ row, ...ROOM });
			for (const order of ["asc", "desc"] as const) {
				const list = async (purpose?: string) => {
					const page = await store.files.list({ endpoint: "a", purpose, order, limit: 1, now: T0 });
					return [page.files.map(({ id }) => id), page.more];
				};
				expect(await list()).toEqual([[shown.id], false]);
				expect(await list(PART)).toEqual([[], false]);
			}
			expect(await store.files.find({ endpoint: "a", id: hidden.id, now: T0 })).toEqual(hidden);
			expect(await store.files.totals()).toEqual([{ endpoint: "a", files: 2, bytes: 3 }]);
		}));

	it("D57: an open batch is cancelled once, and its version stays", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a" });
			const cancel = (now: number, other: object = {}) => store.batches.cancel({ ...row, now, ...other });
			for (const other of [{ endpoint: "b" }, { id: "none" }]) expect(await cancel(T0, other)).toBeUndefined();
			expect(await cancel(T0 + 1)).toEqual({ ...row, cancelledAt: T0 + 1 });
			expect(await cancel(T0 + 2)).toEqual({ ...row, cancelledAt: T0 + 1 });
			expect(await replaced(store, row)).toBe("replaced");
			expect(await store.batches.find(row)).toMatchObject({ cancelledAt: T0 + 1, version: 2 });
			const ended = await inserted(store, { endpoint: "a", isOpen: false });
			expect(await store.batches.cancel({ ...ended, now: T0 + 3 })).toEqual({ ...ended, cancelledAt: undefined });
		}));

	it("D57: batches that have ended are removed when they are old, some at a time", () =>
		stored(async (store) => {
			for (let n = 0; n < 3; n += 1) await inserted(store, { endpoint: "a", isOpen: false, createdAt: T0 + n });
			const kept = await inserted(store, { endpoint: "b" });
			expect(await store.batches.expire({ before: T0, limit: 9 })).toBe(0);
			expect(await store.batches.expire({ before: T0 + 9, limit: 2 })).toBe(2);
			expect((await store.batches.list({ endpoint: "a", limit: 9 })).batches).toMatchObject([{ createdAt: T0 + 2 }]);
			expect(await store.batches.expire({ before: T0 + 9, limit: 2 })).toBe(1);
			expect(await store.batches.expire({ before: T0 + 9, limit: 2 })).toBe(0);
			expect(await store.batches.find(kept)).toBeDefined();
		}));

	it("D39, D57: batches go with their endpoint, and files that they store during its removal; none is added", () =>
		stored(async (store) => {
			const row = await inserted(store, { endpoint: "a" });
			const other = await inserted(store, { endpoint: "b" });
			await store.endpoints.remove({ id: "a" });
			for (const endpoint of ["a", "none"])
				expect(await store.batches.insert({ row: batchRow({ endpoint }), repeatsSince: T0 })).toBeUndefined();
			const file = part(1);
			expect(await replaced(store, row, { insert: [file] })).toBe("replaced");
			expect(await store.endpoints.forget({ id: "a", now: T0 })).toBe(true);
			expect(await store.batches.find(row)).toBeUndefined();
			expect(await store.files.unknown({ ids: [file.id] })).toEqual([file.id]);
			expect((await store.batches.open({ limit: 9 })).map(({ id }) => id)).toEqual([other.id]);
			expect(await replaced(store, { ...row, version: 2 }, { insert: [file] })).toBe("stale");
			expect(await store.batches.expire({ before: T0, limit: 9 })).toBe(0);
		}));
}
