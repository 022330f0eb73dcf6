/** Cases: what each server has admitted lately (D24). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const rowOf = (run: string, at: number, counts = "{}") => ({ run, server: "s", at, counts });

export function limitCases({ open }: Bed): void {
	it("D24: put › a row replaces that of the same start, and no other; list › those after a moment", () =>
		alone(open, async ({ store: { limits } }) => {
			const other = { ...rowOf("b", T0 + 5), server: "t" };
			for (const row of [rowOf("a", T0), other, rowOf("a", T0 + 9, '{"ep/run":[1,0,2]}')]) await limits.put(row);
			const listed = async (after: number) =>
				(await limits.list({ after })).toSorted((one, next) => (one.run < next.run ? -1 : 1));
			expect(await listed(T0)).toEqual([rowOf("a", T0 + 9, '{"ep/run":[1,0,2]}'), other]);
			expect(await listed(T0 + 5)).toEqual([rowOf("a", T0 + 9, '{"ep/run":[1,0,2]}')]);
			expect(await listed(T0 + 9)).toEqual([]);
		}));

	it("D24: expire › rows up to a moment go, later ones stay", () =>
		alone(open, async ({ store: { limits } }) => {
			for (const [run, at] of [
				["a", T0],
				["b", T0 + 1],
				["c", T0 + 2],
			] as const)
				await limits.put(rowOf(run, at));
			await limits.expire({ until: T0 + 1 });
			expect(await limits.list({ after: 0 })).toEqual([rowOf("c", T0 + 2)]);
		}));
}
