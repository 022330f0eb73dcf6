/** Cases: templates, registries, volumes and secrets of the management API. */
import { expect, it } from "vitest";
import type { ResourceRow } from "../../src/kernel/store/contract/endpoints.ts";
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
			const { sealed: _, ...head } = first;
			expect(await resources.list({ kind: "template" })).toEqual([later, head]);
			expect(await resources.named({ kind: "volume", name: "other" })).toEqual([other]);
			expect(await resources.named({ kind: "volume", name: "odd \u0000" })).toEqual([]);
			expect(await resources.list({ kind: "secret" })).toEqual([]);
			expect(await resources.find({ kind: "template", id: "b" })).toEqual(first);
			expect(await resources.find({ kind: "secret", id: "b" })).toBeUndefined();
		}));

	it("D41: page, size › what follows an object, the newest first, also of one moment", () =>
		alone(open, async ({ store: { resources } }) => {
			const rows = ["c", "b", "a"].map((id) =>
				resourceRow({ id, createdAt: T0 + (id === "c" ? 1 : 0), sealed: "sealed" }),
			);
			for (const row of [...rows, resourceRow({ kind: "volume" })]) await resources.insert({ row, atMost: 9 });
			for (const [after, limit, found] of [
				[undefined, 2, rows.slice(0, 2)],
				[rows[0], 1, rows.slice(1, 2)],
				[rows[1], 9, rows.slice(2)],
				[rows[2], 9, []],
			] as const) {
				const q = { kind: "template", after: after && { createdAt: after.createdAt, id: after.id }, limit } as const;
				expect(await resources.page(q)).toEqual(found);
				expect(await resources.size(q)).toBe(found.length * "{}sealed".length);
			}
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
			expect(await resources.find({ kind: "template", id: row.id })).toEqual(changed);
		}));

	it("remove › once, and no update brings it back", () =>
		alone(open, async ({ store: { resources } }) => {
			const row = resourceRow();
			await resources.insert({ row, atMost: 9 });
			expect(await resources.remove({ kind: "volume", id: row.id })).toBe("missing");
			expect(await resources.remove({ kind: "template", id: row.id })).toBe("removed");
			expect(await resources.remove({ kind: "template", id: row.id })).toBe("missing");
			expect(await resources.update({ row, from: T0 })).toBe(false);
			expect(await resources.list({ kind: "template" })).toEqual([]);
		}));

	it("D49: remove › not what endpoints use; put › not what uses a missing one", () =>
		alone(open, async ({ store: { endpoints, resources } }) => {
			const used = [
				{ kind: "registry", id: "a1" },
				{ kind: "volume", id: "b2" },
			] as const;
			const settings = JSON.stringify({ launcher: { registry: "a1" }, management: { networkVolumes: ["b2"] } });
			const put = (id: string) => endpoints.put({ id, settings, uses: used, now: T0 });
			expect(await put("one")).toBe(false);
			for (const { kind, id } of used) await resources.insert({ row: resourceRow({ kind, id }), atMost: 9 });
			expect([await put("two"), await put("one")]).toEqual([true, true]);
			// Names one id as another kind, and the other one in a text.
			const other = JSON.stringify({ launcher: { registry: "b2" }, name: "a1" });
			await endpoints.put({ id: "other", settings: other, now: T0 });
			for (const each of used) expect(await resources.remove(each)).toEqual({ users: ["one", "two"] });
			await endpoints.remove({ id: "one" });
			await endpoints.put({ id: "two", before: { settings }, settings: "{}", now: T0 });
			for (const each of used) expect(await resources.remove(each)).toBe("removed");
			expect(await put("three")).toBe(false);
		}));
}
