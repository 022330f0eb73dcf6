/** Cases: texts of modules. */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone } from "./site.ts";

export function documentCases({ open }: Bed): void {
	it("documents.replace › of two changes of the same text one is made; read › the text as it was written", () =>
		alone(open, async ({ store: { documents } }) => {
			expect(await documents.read("a")).toBeUndefined();
			const first = ['{"a":"\u00e9"}', "{}"].map((to) => documents.replace({ name: "a", from: undefined, to }));
			expect(await Promise.all(first)).toEqual([true, false]);
			const from = '{"a":"\u00e9"}';
			expect(await documents.read("a")).toBe(from);
			const second = ["b", "c"].map((to) => documents.replace({ name: "a", from, to }));
			expect((await Promise.all(second)).filter(Boolean)).toHaveLength(1);
			expect(await documents.replace({ name: "a", from, to: "d" })).toBe(false);
			expect(["b", "c"]).toContain(await documents.read("a"));
		}));
}
