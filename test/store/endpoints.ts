/** Cases: endpoints as stored. */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

export function endpointCases({ open }: Bed): void {
  it("put creates an endpoint or replaces its settings; list gives all", () =>
    alone(open, async ({ store }) => {
      expect(await store.endpoints.list()).toEqual([]);
      await store.endpoints.put({ id: "b", settings: '{"n": 1.0}', now: T0 });
      await store.endpoints.put({ id: "a", settings: "{}", now: T0 + 1 });
      await store.endpoints.put({ id: "b", settings: '{"n": 2}', now: T0 + 2 });
      const all = (await store.endpoints.list()).toSorted((x, y) => x.id.localeCompare(y.id));
      expect(all).toEqual([
        { id: "a", settings: "{}", paused: false, createdAt: T0 + 1 },
        { id: "b", settings: '{"n": 2}', paused: false, createdAt: T0 },
      ]);
    }));
}
