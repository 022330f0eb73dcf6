/** Cases: objects of S3 clients, uploads in parts, and the rows of their files (D59). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { ObjectRow, PartRow } from "../../src/kernel/store/contract/objects.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { fileRow } from "./files.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const ROOM = { endpointBytes: 1000, totalBytes: 1000 };
const AT = { endpoint: "a", bucket: "b" };

export function objectRow(given: Partial<ObjectRow> & { key: string }): ObjectRow {
	return { ...AT, content: "", bytes: 1, etag: "e", headers: "{}", createdAt: T0, ...given };
}

async function put({ objects }: Store, given: Partial<ObjectRow> & { key: string }, ifAbsent = false) {
	const file = fileRow({ endpoint: given.endpoint ?? "a", purpose: "part", bytes: given.bytes ?? 1 });
	const object = objectRow({ ...given, content: file.id });
	return { object, result: await objects.put({ object, file, ifAbsent, now: T0, ...ROOM }) };
}

async function upload({ objects }: Store, key: string): Promise<string> {
	const id = `upload-${randomBytes(8).toString("hex")}`;
	expect(await objects.createUpload({ upload: { ...AT, key, id, headers: "{}", createdAt: T0 } })).toBe("created");
	return id;
}

async function putPart({ objects }: Store, id: string, number: number, bytes = 1) {
	const row = fileRow({ endpoint: "a", purpose: "part", bytes });
	const part: PartRow = { number, file: row.id, bytes, etag: `e${number}`, createdAt: T0 };
	return { part, result: await objects.putPart({ upload: id, part, row, ...ROOM }) };
}

const totalsOf = async ({ files }: Store) => (await files.totals()).map((each) => [each.files, each.bytes]);

export function objectCases({ open }: Bed): void {
	/** With endpoints `a` and `z`. */
	const stored = (run: (store: Store) => Promise<void>): Promise<void> =>
		alone(open, async ({ store }) => {
			for (const id of ["a", "z"]) await store.endpoints.put({ id, settings: "{}", now: T0 });
			await run(store);
		});

	it("D59: an object is found as it was stored, at its endpoint alone, and a second one replaces it", () =>
		stored(async (store) => {
			const { object, result } = await put(store, { key: "ü/ 'x' \"", expiresAt: T0 + 10, bytes: 3 });
			expect(result).toEqual({ freed: [] });
			const at = { ...AT, key: object.key, now: T0 };
			expect(await store.objects.find(at)).toEqual({ ...object, parts: [{ file: object.content, bytes: 3 }] });
			for (const other of [{ endpoint: "z" }, { bucket: "c" }, { key: "odd \u0000" }, { now: T0 + 10 }])
				expect(await store.objects.find({ ...at, ...other })).toBeUndefined();
			expect((await put(store, { key: object.key }, true)).result).toBe("exists");
			const second = await put(store, { key: object.key });
			expect(second.result).toEqual({ freed: [object.content] });
			expect(await store.objects.find(at)).toMatchObject({ content: second.object.content });
			expect(await totalsOf(store)).toEqual([[1, 1]]);
			expect(await store.objects.remove({ ...AT, keys: [object.key, "none"] })).toEqual({
				removed: 2,
				freed: [second.object.content],
			});
			expect(await totalsOf(store)).toEqual([[0, 0]]);
		}));

	it("D59: bytes that do not fit are refused, and those of copies count once, until the last one is removed", () =>
		stored(async (store) => {
			expect((await put(store, { key: "a", bytes: 1001 })).result).toEqual({ over: "endpoint", bytes: 0 });
			const { object } = await put(store, { key: "a", bytes: 600 });
			expect((await put(store, { key: "b", bytes: 600 })).result).toEqual({ over: "endpoint", bytes: 600 });
			const copy = { ...AT, key: "copy", createdAt: T0, headers: undefined };
			const from = { ...AT, key: "a" };
			expect(await store.objects.copy({ from, object: copy, now: T0 })).toEqual({ etag: "e", freed: [] });
			expect(await store.objects.copy({ from: { ...from, key: "x" }, object: copy, now: T0 })).toBe("no object");
			expect(await totalsOf(store)).toEqual([[1, 600]]);
			expect(await store.objects.remove({ ...AT, keys: ["a"] })).toMatchObject({ freed: [] });
			expect(await store.objects.remove({ ...AT, keys: ["copy"] })).toMatchObject({ freed: [object.content] });
			expect((await put(store, { endpoint: "none", key: "a" })).result).toBe("no endpoint");
		}));

	it("D59: lists are in the order of UTF-8, page by page, and name a folder once", () =>
		stored(async (store) => {
			const keys = ["a", "d/1", "d/2", "d/e/3", "d0", "f/1", "\uffee", "\u{1f600}"];
			for (const key of keys.toReversed()) await put(store, { key });
			const list = async (q: { prefix?: string; delimiter?: string; after?: string; limit?: number }) => {
				const all = { prefix: "", delimiter: "", after: "", limit: 100, now: T0, ...AT, ...q };
				const { objects, folders, last } = await store.objects.list(all);
				return { shown: [...objects.map(({ key }) => key), ...folders], last };
			};
			expect(await list({})).toEqual({ shown: keys, last: undefined });
			expect(await list({ prefix: "d/" })).toEqual({ shown: ["d/1", "d/2", "d/e/3"], last: undefined });
			expect(await list({ prefix: "d/", delimiter: "/" })).toMatchObject({ shown: ["d/1", "d/2", "d/e/"] });
			expect(await list({ prefix: "d/", after: "e" })).toMatchObject({ shown: [] });
			for (const limit of [1, 2, 3]) {
				const shown: string[] = [];
				for (let after: string | undefined = ""; after !== undefined; ) {
					const page = await list({ delimiter: "/", limit, after });
					shown.push(...page.shown);
					after = page.last;
				}
				expect(new Set(shown)).toEqual(new Set(["a", "d/", "d0", "f/", "\uffee", "\u{1f600}"]));
				expect(shown).toHaveLength(6);
			}
		}));

	it("D59: a list passes a folder whose keys have the last character of all", () =>
		stored(async (store) => {
			for (let n = 0; n < 65; n += 1) await put(store, { key: `d/\u{10ffff}${n}` });
			await put(store, { key: "e" });
			const all = { ...AT, prefix: "", delimiter: "/", after: "", limit: 100, now: T0 };
			for (const after of ["", "d/"]) {
				const { objects, last } = await store.objects.list({ ...all, after });
				expect([objects.map(({ key }) => key), last]).toEqual([["e"], undefined]);
			}
		}));

	it("D59: a removal ends behind an object of very many files", () =>
		stored(async (store) => {
			const id = await upload(store, "many");
			const numbers = Array.from({ length: 200 }, (_, at) => at + 1);
			await Promise.all(numbers.map((number) => putPart(store, id, number)));
			const object = objectRow({ key: "many", content: id });
			const parts = numbers.map((number) => ({ number, etag: `e${number}` }));
			const complete = { object, parts, maxBytes: 999, ifAbsent: false, now: T0 };
			expect(await store.objects.complete(complete)).toEqual({ freed: [] });
			await put(store, { key: "next" });
			const { removed, freed } = await store.objects.remove({ ...AT, keys: ["many", "next"] });
			expect([removed, freed.length]).toEqual([1, 200]);
			expect(await totalsOf(store)).toEqual([[1, 1]]);
			expect((await store.objects.remove({ ...AT, keys: ["next"] })).removed).toBe(1);
		}));

	it("D59: an upload becomes an object of its parts, once; parts that it does not name are removed", () =>
		stored(async (store) => {
			const id = await upload(store, "k");
			const one = await putPart(store, id, 1, 5);
			const again = await putPart(store, id, 1, 7);
			expect(again.result).toEqual({ freed: [one.part.file] });
			const three = await putPart(store, id, 3, 2);
			const left = await putPart(store, id, 2);
			expect((await store.objects.parts({ upload: id, after: 1, limit: 9 })).map(({ number }) => number)).toEqual([
				2, 3,
			]);
			const object = objectRow({ key: "k", content: id, etag: "whole" });
			const parts = [
				{ number: 1, etag: "e1" },
				{ number: 3, etag: "e3" },
			];
			const q = { object, parts, maxBytes: 9, ifAbsent: false, now: T0 };
			const bad = { ...q, parts: [...parts, { number: 4, etag: "e4" }] };
			expect(await store.objects.complete(bad)).toEqual({ badPart: 4 });
			expect(await store.objects.complete({ ...q, maxBytes: 8 })).toBe("too large");
			expect(await store.objects.complete(q)).toEqual({ freed: [left.part.file] });
			expect(await store.objects.complete(q)).toEqual({ freed: [] });
			expect((await putPart(store, id, 5)).result).toBe("no upload");
			expect(await store.objects.find({ ...AT, key: "k", now: T0 })).toEqual({
				...object,
				bytes: 9,
				parts: [again, three].map(({ part: { file, bytes } }) => ({ file, bytes })),
			});
			expect(await totalsOf(store)).toEqual([[2, 9]]);
			const { freed } = await store.objects.remove({ ...AT, keys: ["k"] });
			expect(freed).toEqual([again.part.file, three.part.file]);
			expect(await totalsOf(store)).toEqual([[0, 0]]);
		}));

	it("D59: an aborted upload, an old one and an expired object free their files", () =>
		stored(async (store) => {
			const [aborted, old] = [await upload(store, "k"), await upload(store, "k")];
			const first = await putPart(store, aborted, 1);
			const second = await putPart(store, old, 1);
			const at = { ...AT, key: "k" };
			expect(await store.objects.abort({ ...at, id: aborted })).toEqual({ freed: [first.part.file] });
			expect(await store.objects.abort({ ...at, id: aborted })).toBe("no upload");
			const { object } = await put(store, { key: "expired", expiresAt: T0 + 1 });
			const nothing = { now: T0, uploadsBefore: T0, limit: 9 };
			expect(await store.objects.expire(nothing)).toEqual({ removed: 0, freed: [] });
			expect(await store.objects.expire({ now: T0 + 1, uploadsBefore: T0 + 1, limit: 9 })).toEqual({
				removed: 2,
				freed: [object.content, second.part.file],
			});
			expect(await totalsOf(store)).toEqual([[0, 0]]);
		}));

	it("D59: a bucket exists from its first object until it is removed, empty, and goes with its endpoint", () =>
		stored(async (store) => {
			await put(store, { key: "job-1/a" });
			await put(store, { key: "job-1/b", bucket: "c", createdAt: T0 + 1 });
			expect((await store.objects.buckets({ endpoint: "a" })).map(({ name }) => name)).toEqual(["b", "c"]);
			const folder = { endpoint: "a", folder: "job-1", now: T0, limit: 9 };
			expect((await store.objects.inFolder(folder)).map(({ key }) => key)).toEqual(["job-1/b", "job-1/a"]);
			const bucket = { endpoint: "a", name: "c", now: T0 };
			expect(await store.objects.removeBucket(bucket)).toBe("not empty");
			expect((await store.objects.removeFolder({ ...folder, limit: 9 })).removed).toBe(2);
			expect(await store.objects.removeBucket(bucket)).toBe("removed");
			expect(await store.objects.removeBucket(bucket)).toBe("no bucket");
			await put(store, { key: "k" });
			await putPart(store, await upload(store, "k"), 1);
			await store.endpoints.remove({ id: "a" });
			expect((await put(store, { key: "l" })).result).toBe("no endpoint");
			expect(await store.endpoints.forget({ id: "a", now: T0 })).toBe(true);
			expect(await store.objects.buckets({ endpoint: "a" })).toEqual([]);
			expect(await store.objects.find({ ...AT, key: "k", now: T0 })).toBeUndefined();
			expect(await store.files.totals()).toEqual([]);
		}));
}
