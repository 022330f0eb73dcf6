/** Cases: templates, registries, volumes and secrets of the management API. */
import { expect, it } from "vitest";
import type { ResourceRow } from "../../src/store/contract/resources.ts";
import type { Bed } from "./index.ts";
import { alone, nextId, T0 } from "./site.ts";

export const resourceRow = (given: Partial<ResourceRow> = {}): ResourceRow => ({
	kind: "template",
	id: nextId(),
	name: "first",
	body: "{}",
	createdAt: T0,
	updatedAt: T0,
	...given,
});

export function resourceCases({ open }: Bed): void {
	it("insert, find, list › newest first, of one kind, by name", () =>
		alone(open, async ({ store: { resources } }) => {
			const first = resourceRow({ id: "b", sealed: "sealed" });
			const later = resourceRow({ id: "a", createdAt: T0 + 1 });
			const other = resourceRow({ kind: "volume", id: "b", name: "other" });
			for (const row of [first, later, other]) expect(await resources.insert({ row, atMost: 9 })).toBe("inserted");
			expect(await resources.list({ kind: "template" })).toEqual([later, first]);
			expect(await resources.list({ kind: "volume", name: "other" })).toEqual([other]);
			expect(await resources.list({ kind: "volume", name: "odd \u0000" })).toEqual([]);
			expect(await resources.list({ kind: "secret" })).toEqual([]);
			expect(await resources.find({ kind: "template", id: "b" })).toEqual(first);
			expect(await resources.find({ kind: "secret", id: "b" })).toBeUndefined();
		}));

	it("insert › names of registries and of secrets are unique, those of others are not", () =>
		alone(open, async ({ store: { resources } }) => {
			const insert = (kind: ResourceRow["kind"]) => resources.insert({ row: resourceRow({ kind }), atMost: 9 });
			for (const kind of ["template", "volume"] as const) {
				expect([await insert(kind), await insert(kind)]).toEqual(["inserted", "inserted"]);
			}
			for (const kind of ["registry", "secret"] as const) {
				expect([await insert(kind), await insert(kind)]).toEqual(["inserted", "taken"]);
			}
		}));

	it("insert › at most as many of a kind as asked, also at once", () =>
		alone(open, async ({ store: { resources } }) => {
			const results = await Promise.all([1, 2, 3, 4].map(() => resources.insert({ row: resourceRow(), atMost: 2 })));
			expect(results.toSorted()).toEqual(["full", "full", "inserted", "inserted"]);
			expect(await resources.insert({ row: resourceRow({ kind: "volume" }), atMost: 2 })).toBe("inserted");
		}));

	it("update › only the version that it names", () =>
		alone(open, async ({ store: { resources } }) => {
			const row = resourceRow({ sealed: "old" });
			await resources.insert({ row, atMost: 9 });
			const changed = { ...row, name: "second", body: '{"a":1}', sealed: "new", updatedAt: T0 + 1 };
			expect(await resources.update({ row: changed, from: T0 + 5 })).toBe(false);
			expect(await resources.update({ row: changed, from: T0 })).toBe(true);
			expect(await resources.update({ row: changed, from: T0 })).toBe(false);
			expect(await resources.list({ kind: "template" })).toEqual([changed]);
		}));

	it("remove › once, and no update brings it back", () =>
		alone(open, async ({ store: { resources } }) => {
			const row = resourceRow();
			await resources.insert({ row, atMost: 9 });
			expect(await resources.remove({ kind: "volume", id: row.id })).toBe(false);
			expect(await resources.remove({ kind: "template", id: row.id })).toBe(true);
			expect(await resources.remove({ kind: "template", id: row.id })).toBe(false);
			expect(await resources.update({ row, from: T0 })).toBe(false);
			expect(await resources.list({ kind: "template" })).toEqual([]);
		}));
}
