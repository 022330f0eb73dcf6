/** Cases: sessions of the console (D31). */
import { expect, it } from "vitest";
import type { SessionRow } from "../../src/kernel/store/contract/access.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

export const sessionRow = (n: number, given: Partial<SessionRow> = {}): SessionRow => ({
	id: `session-${n}`,
	hash: `${n}`.padStart(64, "0"),
	page: "page",
	keyId: "key-1",
	mark: "mark",
	byLink: n % 2 === 0,
	createdAt: T0,
	until: T0 + 1000,
	lastUsedAt: T0 + n,
	address: "192.0.2.1",
	client: "Firefox 143 on Linux",
	...given,
});

const put = ({ sessions }: Store, row: SessionRow, atMost = 9, now = T0): Promise<void> =>
	sessions.insert({ row, atMost, usedSince: T0 - 100, now });

const idsOf = async ({ sessions }: Store): Promise<string[]> => (await sessions.list()).map(({ id }) => id);

export function sessionCases({ open }: Bed): void {
	it("D31: a session is found by the hash of its token, until it is removed", () =>
		alone(open, async ({ store }) => {
			const [one, two] = [sessionRow(1), sessionRow(2)];
			for (const row of [one, two]) await put(store, row);
			expect(await store.sessions.find({ hash: one.hash })).toEqual(one);
			expect(await store.sessions.find({ hash: one.id })).toBeUndefined();
			expect(await store.sessions.list()).toEqual([two, one]);
			expect(await store.sessions.remove({ id: one.id })).toBe(true);
			expect(await store.sessions.remove({ id: one.id })).toBe(false);
			expect(await store.sessions.remove({ id: "odd \u0000 \ud800" })).toBe(false);
			expect(await store.sessions.find({ hash: one.hash })).toBeUndefined();
			expect(await idsOf(store)).toEqual([two.id]);
		}));

	it("D31: the last use is noted, never an earlier one", () =>
		alone(open, async ({ store }) => {
			await put(store, sessionRow(1));
			await store.sessions.used({ id: "session-1", now: T0 + 9, address: "192.0.2.2" });
			await store.sessions.used({ id: "session-1", now: T0 + 5, address: "192.0.2.3" });
			await store.sessions.used({ id: "none", now: T0 + 5, address: "" });
			expect(await store.sessions.list()).toEqual([sessionRow(1, { lastUsedAt: T0 + 9, address: "192.0.2.2" })]);
		}));

	it("D31: a new one removes those that are over, and of its key the longest unused beyond a number", () =>
		alone(open, async ({ store }) => {
			await put(store, sessionRow(1, { until: T0 + 50 }));
			await put(store, sessionRow(2, { lastUsedAt: T0 - 101 }));
			await put(store, sessionRow(3, { lastUsedAt: T0 - 100, keyId: "key-2" }));
			await put(store, sessionRow(4), 9, T0 + 49);
			expect(await idsOf(store)).toEqual(["session-4", "session-1", "session-3"]);
			await put(store, sessionRow(5), 9, T0 + 50);
			await put(store, sessionRow(6), 2, T0 + 50);
			expect(await idsOf(store)).toEqual(["session-6", "session-5", "session-3"]);
		}));

	it("D31: all, or those of a key, are removed but one", () =>
		alone(open, async ({ store }) => {
			for (let n = 1; n <= 6; n += 1) await put(store, sessionRow(n, { keyId: n > 3 ? "key-2" : "key-1" }));
			expect(await store.sessions.removeAll({ keyId: "key-1", except: "session-2" })).toBe(2);
			expect(await idsOf(store)).toEqual(["session-6", "session-5", "session-4", "session-2"]);
			expect(await store.sessions.removeAll({ except: "session-4" })).toBe(3);
			expect(await store.sessions.removeAll({ keyId: "odd \u0000" })).toBe(0);
			expect(await store.sessions.removeAll({})).toBe(1);
			expect(await idsOf(store)).toEqual([]);
		}));

	it("D30, D31: sessions end with their key, and when it is rotated", () =>
		alone(open, async ({ store }) => {
			for (const n of [1, 2, 3]) {
				const row = { id: `key-${n}`, hash: `${n}`, name: "k", scopes: ["read"], createdAt: T0 };
				await store.keys.insert({ row, ifNone: false });
				await put(store, sessionRow(n, { keyId: row.id }));
			}
			await store.keys.rotate({ id: "key-1", hash: "new" });
			expect(await idsOf(store)).toEqual(["session-3", "session-2"]);
			await store.keys.remove({ id: "key-2", now: T0 });
			expect(await idsOf(store)).toEqual(["session-3"]);
		}));
}
