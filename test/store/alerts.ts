/** Cases: alerts that fire, and silences (D53). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone } from "./site.ts";

export function alertCases({ open }: Bed): void {
	it("D53: replace › of two changes of the same text one is made; read › the text as it was written", () =>
		alone(open, async ({ store: { alerts } }) => {
			expect(await alerts.read()).toBeUndefined();
			const first = ['{"a":"\u00e9"}', "{}"].map((to) => alerts.replace({ from: undefined, to }));
			expect(await Promise.all(first)).toEqual([true, false]);
			const from = '{"a":"\u00e9"}';
			expect(await alerts.read()).toBe(from);
			const second = ["b", "c"].map((to) => alerts.replace({ from, to }));
			expect((await Promise.all(second)).filter(Boolean)).toHaveLength(1);
			expect(await alerts.replace({ from, to: "d" })).toBe(false);
			expect(["b", "c"]).toContain(await alerts.read());
		}));
}
