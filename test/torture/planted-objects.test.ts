/** The checker finds bugs of objects (D59) that are planted in the store of a running service. */
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { every, type Plant, rulesOf } from "./planted-service.ts";

/** Clients that store objects, and for how long at most, ms. */
const [CLIENTS, MS] = [8, 12_000];

/** What an operation answers that removes no file. */
const NOTHING = { removed: 1, freed: [] };

/** A bucket that no list has. */
const HIDDEN = "hidden";

let copies = 0;

function kept(endpoint: string, bucket: string, key: string) {
	copies += 1;
	return { endpoint, bucket: HIDDEN, key: `${bucket}/${key}/${copies}`, createdAt: 0, headers: undefined };
}

const reversed = (text: string): string => Array.from(text).toReversed().join("");

it("a service without a bug breaks no rule", { timeout: 60_000 }, async () => {
	expect(await rulesOf(() => ({}), ["purge"], { ms: 5000, objects: CLIENTS, restarts: true })).toEqual([]);
});

it.each<[string, string, Plant]>([
	[
		"object-kept",
		"acknowledges a put before its row, which is lost",
		({ objects }) => {
			const lies = every(3);
			return { objects: { put: async (q) => (lies() ? NOTHING : await objects.put(q)) } };
		},
	],
	["object-kept", "does not write deletions", () => ({ objects: { remove: () => Promise.resolve(NOTHING) } })],
	[
		"object-whole",
		"loses the bytes that a copy shares",
		({ objects, filesFolder }) => ({
			objects: {
				async copy(q) {
					const found = await objects.find({ ...q.from, now: 0 });
					for (const { file } of found?.parts ?? []) await filesFolder!.remove(file);
					return await objects.copy(q);
				},
			},
		}),
	],
	[
		"object-whole",
		"keeps half an object",
		({ objects, filesFolder }) => ({
			objects: {
				async put({ object, file, ...q }) {
					const bytes = Math.floor(file.bytes / 2);
					await truncate(join(filesFolder!.path, file.id), bytes);
					return await objects.put({ ...q, object: { ...object, bytes }, file: { ...file, bytes } });
				},
			},
		}),
	],
	[
		"object-whole",
		"loses the last part of an upload",
		({ objects }) => ({
			objects: {
				complete({ object, parts, ...q }) {
					// Totals are those of the ETag: a violation of theirs would be found first.
					const etag = object.etag.replace(/\d+$/, "1");
					return objects.complete({ ...q, object: { ...object, etag }, parts: parts.slice(0, 1) });
				},
			},
		}),
	],
	[
		"object-whole",
		"answers parts in another order",
		({ objects }) => ({
			objects: {
				async find(q) {
					const found = await objects.find(q);
					return found && { ...found, parts: found.parts.toReversed() };
				},
			},
		}),
	],
	[
		"object-etag",
		"stores another ETag",
		({ objects }) => ({
			objects: { put: (q) => objects.put({ ...q, object: { ...q.object, etag: reversed(q.object.etag) } }) },
		}),
	],
	[
		"object-condition",
		"ignores If-None-Match",
		({ objects }) => ({ objects: { put: (q) => objects.put({ ...q, ifAbsent: false }) } }),
	],
	[
		"object-condition",
		"refuses conditional puts after a deletion",
		({ objects }) => ({
			objects: { put: async (q) => (q.ifAbsent ? "exists" : await objects.put(q)) },
		}),
	],
	[
		"object-list",
		"leaves the last object out of some short lists",
		({ objects }) => {
			const some = every(2);
			return {
				objects: {
					async list(q) {
						const page = await objects.list(q);
						return q.limit < 100 && some() ? { ...page, objects: page.objects.slice(0, -1) } : page;
					},
				},
			};
		},
	],
	[
		"upload-kept",
		"acknowledges parts that it does not store",
		({ objects }) => {
			const lies = every(6);
			return { objects: { putPart: async (q) => (lies() ? NOTHING : await objects.putPart(q)) } };
		},
	],
	[
		"upload-kept",
		"does not know a completion again",
		({ objects }) => {
			const done = new Set<string>();
			return {
				objects: {
					async complete(q) {
						if (done.has(q.object.content)) return "no upload";
						done.add(q.object.content);
						return await objects.complete(q);
					},
				},
			};
		},
	],
	["upload-hidden", "ignores aborts", () => ({ objects: { abort: () => Promise.resolve(NOTHING) } })],
	[
		"file-totals",
		"keeps rows of contents that no object has",
		({ objects }) => ({
			objects: {
				async remove(q) {
					const now = 0;
					for (const key of q.keys)
						await objects.copy({ from: { ...q, key }, object: kept(q.endpoint, q.bucket, key), now });
					return await objects.remove(q);
				},
				buckets: async (q) => (await objects.buckets(q)).filter(({ name }) => name !== HIDDEN),
			},
		}),
	],
])("%s: a service that %s", { timeout: 60_000 }, async (rule, _, plant) => {
	expect(await rulesOf(plant, ["purge"], { ms: MS, objects: CLIENTS })).toContain(rule);
});

it("object-kept: a service that forgets objects at a restart", { timeout: 60_000 }, async () => {
	const plant: Plant = ({ objects }) => {
		const known = new Set<string>();
		return {
			objects: {
				async put(q) {
					known.add(q.object.content);
					return await objects.put(q);
				},
				async complete(q) {
					known.add(q.object.content);
					return await objects.complete(q);
				},
				async find(q) {
					const found = await objects.find(q);
					return found && known.has(found.content) ? found : undefined;
				},
			},
		};
	};
	expect(await rulesOf(plant, ["purge"], { ms: MS, objects: CLIENTS, restarts: true })).toContain("object-kept");
});
