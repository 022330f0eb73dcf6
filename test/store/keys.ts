/** Cases: API keys and worker tokens (D30, D26). */
import { expect, it } from "vitest";
import type { AuditEntry } from "../../src/kernel/store/contract/records.ts";
import type { KeyRow } from "../../src/kernel/store/contract/access.ts";
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
			const made = await Promise.all([1, 2, 3].map((n) => store.keys.insert({ row: keyOf(n), ifNone: true })));
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
			await keys.used({ id: young.id, now: T0 + 9, address: "192.0.2.1" });
			await keys.used({ id: young.id, now: T0 + 3 });
			await keys.used({ id: "none", now: T0 + 3 });
			expect(await keys.list()).toEqual([old, { ...young, lastUsedAt: T0 + 9, lastUsedAddress: "192.0.2.1" }]);
			expect(await keys.find({ hash: young.hash })).toEqual({
				...young,
				lastUsedAt: T0 + 9,
				lastUsedAddress: "192.0.2.1",
			});
		}));

	it("D30: remove › a removed key is found no more; one of a scope stays if it must", () =>
		alone(open, async ({ store: { keys } }) => {
			const admin = (n: number): KeyRow => ({ ...keyOf(n), scopes: ["read", "admin"] });
			for (const row of [keyOf(1), admin(2), admin(3)]) await keys.insert({ row, ifNone: false });
			expect(await keys.remove({ id: "none", keep: "admin", now: T0 })).toBe("missing");
			expect(await keys.remove({ id: "key-2", keep: "admin", now: T0 })).toBe("removed");
			expect(await keys.find({ hash: keyOf(2).hash })).toBeUndefined();
			expect(await keys.remove({ id: "key-3", keep: "admin", now: T0 })).toBe("last");
			expect(await keys.remove({ id: "key-1", keep: "admin", now: T0 })).toBe("removed");
			expect(await keys.list()).toEqual([admin(3)]);
			expect(await keys.remove({ id: "key-3", now: T0 })).toBe("removed");
		}));

	it("D30: remove › an expired key is not the last one that counts", () =>
		alone(open, async ({ store: { keys } }) => {
			const admin = (n: number): KeyRow => ({ ...keyOf(n), scopes: ["admin"] });
			await keys.insert({ row: { ...admin(1), expiresAt: T0 + 1 }, ifNone: false });
			await keys.insert({ row: admin(2), ifNone: false });
			expect(await keys.list()).toEqual([{ ...admin(1), expiresAt: T0 + 1 }, admin(2)]);
			expect(await keys.remove({ id: "key-2", keep: "admin", now: T0 + 1 })).toBe("last");
			expect(await keys.remove({ id: "key-2", keep: "admin", now: T0 })).toBe("removed");
		}));

	it("D30: rotate › a key is found by its new hash only; its end stays where none is given", () =>
		alone(open, async ({ store: { keys } }) => {
			const row = { ...keyOf(1), expiresAt: T0 + 9 };
			await keys.insert({ row, ifNone: false });
			const [one, two] = ["b".repeat(64), "c".repeat(64)];
			expect(await keys.rotate({ id: "none", hash: one })).toBeUndefined();
			const rotated = { ...row, hash: one, expiresAt: T0 + 20 };
			expect(await keys.rotate({ id: row.id, hash: one, expiresAt: T0 + 20 })).toEqual(rotated);
			expect(await keys.find({ hash: row.hash })).toBeUndefined();
			expect(await keys.find({ hash: one })).toEqual(rotated);
			await keys.rotate({ id: row.id, hash: two });
			expect(await keys.find({ hash: two })).toEqual({ ...rotated, hash: two });
		}));

	it("D42: the audit log is listed newest first, in pages, and expires from its oldest entry on", () =>
		alone(open, async ({ store: { audit } }) => {
			const entry = (n: number): AuditEntry => ({
				at: T0 + n,
				keyId: "environment",
				keyName: "a \u0000 name",
				address: "192.0.2.1",
				action: "createKey",
				subject: [`${n}`],
				result: "ok",
			});
			expect(await audit.list({ limit: 5 })).toEqual({ entries: [] });
			for (const n of [1, 2, 3]) await audit.append({ entry: entry(n) });
			const first = await audit.list({ limit: 2 });
			expect(first.entries).toEqual([entry(3), entry(2)]);
			expect(await audit.list({ limit: 2, cursor: first.next })).toEqual({ entries: [entry(1)] });
			const other = { ...entry(4), keyId: "k", action: "revokeKey" };
			await audit.append({ entry: other });
			for (const [filter, found] of [
				[{ keyId: "k" }, [other]],
				[{ action: "createKey" }, [entry(3), entry(2), entry(1)]],
				[{ keyId: "k", action: "revokeKey" }, [other]],
				[{ keyId: "k", action: "createKey" }, []],
				[{ keyId: "k \u0000" }, []],
			] as const)
				expect((await audit.list({ limit: 9, ...filter })).entries).toEqual(found);
			const one = await audit.list({ limit: 1, action: "createKey" });
			const rest = await audit.list({ limit: 9, action: "createKey", cursor: one.next });
			expect([...one.entries, ...rest.entries]).toEqual([entry(3), entry(2), entry(1)]);
			expect(await audit.expire({ before: T0 + 3, limit: 1 })).toBe(1);
			expect(await audit.expire({ before: T0 + 3, limit: 9 })).toBe(1);
			expect((await audit.list({ limit: 9 })).entries).toEqual([other, entry(3)]);
		}));

	it("D30: remove › of the last two at once one stays", () =>
		alone(open, async ({ store: { keys } }) => {
			for (const n of [1, 2]) await keys.insert({ row: { ...keyOf(n), scopes: ["admin"] }, ifNone: false });
			expect(await Promise.all([1, 2].map((n) => keys.remove({ id: `key-${n}`, keep: "admin", now: T0 })))).toEqual([
				"removed",
				"last",
			]);
		}));

	it("D26: tokens are found by their hash until their worker is removed", () =>
		alone(open, async ({ store: { tokens } }) => {
			const own = { hash: "h1", endpoint: "a", worker: "w1", createdAt: T0 };
			const many = { hash: "h2", endpoint: "a", createdAt: T0 };
			await tokens.put(own);
			await tokens.put(many);
			expect(await tokens.find({ hash: "h1" })).toEqual(own);
			expect(await tokens.find({ hash: "h2" })).toEqual(many);
			expect((await tokens.list()).toSorted((a, b) => (a.hash < b.hash ? -1 : 1))).toEqual([own, many]);
			await tokens.remove({ worker: "w1" });
			expect(await tokens.list()).toEqual([many]);
			expect(await tokens.find({ hash: "h1" })).toBeUndefined();
			expect(await tokens.find({ hash: "h2" })).toEqual(many);
		}));
}
