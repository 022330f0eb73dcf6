/** Cases: API keys and worker tokens (D30, D26). */
import { expect, it } from "vitest";
import type { KeyRow } from "../../src/store/store.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const keyOf = (n: number): KeyRow => ({ id: `key-${n}`, hash: `${n}`.padStart(64, "0"), name: `Key ${n}`, scopes: ["read", "write"], createdAt: T0 });

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

  it("D26: tokens are found by their hash until their worker is removed", () =>
    alone(open, async ({ store: { tokens } }) => {
      const own = { hash: "h1", endpoint: "a", worker: "w1", createdAt: T0 };
      const many = { hash: "h2", endpoint: "a", createdAt: T0 };
      await tokens.put(own);
      await tokens.put(many);
      expect(await tokens.find({ hash: "h1" })).toEqual(own);
      expect(await tokens.find({ hash: "h2" })).toEqual(many);
      await tokens.remove({ worker: "w1" });
      expect(await tokens.find({ hash: "h1" })).toBeUndefined();
      expect(await tokens.find({ hash: "h2" })).toEqual(many);
    }));
}
