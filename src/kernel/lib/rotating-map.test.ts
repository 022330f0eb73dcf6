/** Maps and sets of what comes and goes: they hold what plain ones hold, and nothing else. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RotatingMap, RotatingSet } from "./rotating-map.ts";

const step = fc.tuple(fc.constantFrom("set", "delete"), fc.nat(50), fc.nat());

describe("what comes and goes", () => {
	it("a map holds what a plain one holds, in the same order, after any steps", () => {
		fc.assert(
			fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
				const plain = new Map<number, number>();
				const churning = new RotatingMap<number, number>();
				for (const [what, key, value] of steps) {
					if (what === "set") churning.set(key, plain.set(key, value).get(key)!);
					else expect(churning.delete(key)).toBe(plain.delete(key));
					expect([churning.size, churning.has(key), churning.get(key)]).toEqual([
						plain.size,
						plain.has(key),
						plain.get(key),
					]);
				}
				expect([[...churning], [...churning.keys()], [...churning.values()]]).toEqual([
					[...plain],
					[...plain.keys()],
					[...plain.values()],
				]);
			}),
		);
	});

	it("a set holds what a plain one holds, in the same order, after any steps", () => {
		fc.assert(
			fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
				const plain = new Set<number>();
				const churning = new RotatingSet<number>();
				for (const [what, member] of steps) {
					if (what === "set") churning.add(member);
					else expect(churning.delete(member)).toBe(plain.delete(member));
					if (what === "set") plain.add(member);
				}
				expect([churning.size, ...churning]).toEqual([plain.size, ...plain]);
			}),
		);
	});

	it("members may leave while one walks through", () => {
		const set = new RotatingSet<number>();
		for (let n = 0; n < 100; n += 1) set.add(n);
		const met = [];
		for (const member of set) {
			met.push(member);
			set.delete(member);
			set.delete(member + 1);
		}
		expect(met).toEqual(Array.from({ length: 50 }, (_, n) => 2 * n));
		expect(set.size).toBe(0);
	});
});
