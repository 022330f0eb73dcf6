/** Cases: API keys and worker tokens (D30, D26). */
import { expect, it } from "vitest";
import type { KeyRow } from "../../src/store/contract/keys.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const keyOf = (n: number): KeyRow => ({
	id: `key-${n}`,
	hash: `${n}`.padStart(64, "0"),
	name: `Key ${n}`,
	scopes: ["read", "write"],
	createdAt: T0,
});

export function keyCases({ open }: Bed): void {
	it("D30: a key is found by its hash only", () =>
		alone(open, async ({ store }) => {
			const limited: KeyRow = { ...keyOf(2), endpoints: ["a", "b"], scopes: ["admin"] };
			expect(await store.keys.insert({ row: keyOf(1), ifNone: false })).toBe(true);
			expect(await store.keys.insert({ row: limited, ifNone: false })).toBe(true);
			expect(await store.keys.find({ hash: keyOf(1).hash })).toEqual(keyOf(1));
			expect(await store.keys.find({ hash: limited.hash })).toEqual(limited);
			expect(await store.keys.find({ hash: "key-1" })).toBeUndefined();
		}));

	it("D30: the first key is made once, also by several at once", () =>
		alone(open, async ({ store }) => {
			const made = await Promise.all(
				[1, 2, 3].map((n) => store.keys.insert({ row: keyOf(n), ifNone: true })),
			);
			expect(made.filter(Boolean)).toHaveLength(1);
			expect(await store.keys.insert({ row: keyOf(4), ifNone: true })).toBe(false);
			expect(await store.keys.find({ hash: keyOf(4).hash })).toBeUndefined();
		}));

	it("D39: list › all keys, the oldest first, with the last use that was noted", () =>
		alone(open, async ({ store: { keys } }) => {
			expect(await keys.list()).toEqual([]);
			const [old, young] = [{ ...keyOf(1), createdAt: T0 - 5, endpoints: ["a"] }, keyOf(2)];
			await keys.insert({ row: young, ifNone: false });
			await keys.insert({ row: old, ifNone: false });
			expect(await keys.list()).toEqual([old, young]);
			await keys.used({ id: young.id, now: T0 + 9 });
			await keys.used({ id: young.id, now: T0 + 3 });
			await keys.used({ id: "none", now: T0 + 3 });
			expect(await keys.list()).toEqual([old, { ...young, lastUsedAt: T0 + 9 }]);
			expect(await keys.find({ hash: young.hash })).toEqual({ ...young, lastUsedAt: T0 + 9 });
		}));

	it("D30: remove › a removed key is found no more; one of a scope stays if it must", () =>
		alone(open, async ({ store: { keys } }) => {
			const admin = (n: number): KeyRow => ({ ...keyOf(n), scopes: ["read", "admin"] });
			for (const row of [keyOf(1), admin(2), admin(3)]) await keys.insert({ row, ifNone: false });
			expect(await keys.remove({ id: "none", keep: "admin" })).toBe("missing");
			expect(await keys.remove({ id: "key-2", keep: "admin" })).toBe("removed");
			expect(await keys.find({ hash: keyOf(2).hash })).toBeUndefined();
			expect(await keys.remove({ id: "key-3", keep: "admin" })).toBe("last");
			expect(await keys.remove({ id: "key-1", keep: "admin" })).toBe("removed");
			expect(await keys.list()).toEqual([admin(3)]);
			expect(await keys.remove({ id: "key-3" })).toBe("removed");
		}));

	it("D30: remove › of the last two at once one stays", () =>
		alone(open, async ({ store: { keys } }) => {
			for (const n of [1, 2])
				await keys.insert({ row: { ...keyOf(n), scopes: ["admin"] }, ifNone: false });
			expect(
				await Promise.all([1, 2].map((n) => keys.remove({ id: `key-${n}`, keep: "admin" }))),
			).toEqual(["removed", "last"]);
		}));

	it("D26: tokens are found by their hash until their worker is removed", () =>
		alone(open, async ({ store: { tokens } }) => {
			const own = { hash: "h1", endpoint: "a", worker: "w1", createdAt: T0 };
			const many = { hash: "h2", endpoint: "a", createdAt: T0 };
			await tokens.put(own);
			await tokens.put(many);
			expect(await tokens.find({ hash: "h1" })).toEqual(own);
			expect(await tokens.find({ hash: "h2" })).toEqual(many);
			expect((await tokens.list()).toSorted((a, b) => (a.hash < b.hash ? -1 : 1))).toEqual([
				own,
				many,
			]);
			await tokens.remove({ worker: "w1" });
			expect(await tokens.list()).toEqual([many]);
			expect(await tokens.find({ hash: "h1" })).toBeUndefined();
			expect(await tokens.find({ hash: "h2" })).toEqual(many);
		}));
}
