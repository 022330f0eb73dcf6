/** Cases: what was counted of endpoints over time (D40). */
import { expect, it } from "vitest";
import type { MetricsRow } from "../../src/kernel/store/contract/records.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;

const rowOf = (given: Partial<MetricsRow> = {}): MetricsRow => ({
	endpoint: "a",
	step: MINUTE,
	at: T0,
	source: "s1",
	tally: "[[1]]",
	...given,
});

/** Rows in one order. */
function sorted(rows: readonly MetricsRow[]): MetricsRow[] {
	const key = ({ endpoint, step, at, source }: MetricsRow): string => JSON.stringify([endpoint, step, at, source]);
	return rows.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}

export function metricsCases({ open }: Bed): void {
	it("D40: put › a row replaces the one of the same endpoint, step, beginning and source, and no other", () =>
		alone(open, async ({ store: { metrics } }) => {
			const others = [
				rowOf({ endpoint: "b" }),
				rowOf({ step: HOUR }),
				rowOf({ at: T0 + MINUTE }),
				rowOf({ source: "s2" }),
			];
			await metrics.put({ rows: [rowOf(), ...others] });
			await metrics.put({ rows: [rowOf({ tally: "[[2]]" })] });
			await metrics.put({ rows: [] });
			const minutes = await metrics.read({ step: MINUTE, from: T0, to: T0 + HOUR });
			expect(sorted(minutes)).toEqual(
				sorted([rowOf({ tally: "[[2]]" }), ...others.filter(({ step }) => step === MINUTE)]),
			);
			expect(await metrics.read({ step: HOUR, from: T0, to: T0 + HOUR })).toEqual([rowOf({ step: HOUR })]);
		}));

	it("D40: read › steps that begin from one moment until before another, of the endpoints that are asked for", () =>
		alone(open, async ({ store: { metrics } }) => {
			const rows = ["", "a", "b"].flatMap((endpoint) =>
				[0, 1, 2].map((minute) => rowOf({ endpoint, at: T0 + minute * MINUTE })),
			);
			await metrics.put({ rows });
			const read = async (from: number, to: number, endpoints?: readonly string[]) =>
				sorted(await metrics.read({ endpoints, step: MINUTE, from, to }));
			expect(await read(T0, T0 + 3 * MINUTE)).toEqual(sorted(rows));
			expect(await read(T0 + 1, T0 + 2 * MINUTE, ["", "b"])).toEqual(
				sorted(rows.filter(({ endpoint, at }) => endpoint !== "a" && at === T0 + MINUTE)),
			);
			expect(await read(T0, T0 + 3 * MINUTE, ["none"])).toEqual([]);
			expect(await read(T0, T0 + 3 * MINUTE, [])).toEqual([]);
		}));

	it("D40: expire › old rows of one step go, the oldest first, no more than asked", () =>
		alone(open, async ({ store: { metrics } }) => {
			await metrics.put({
				rows: [0, 1, 2, 3].flatMap((minute) => [
					rowOf({ at: T0 + minute * MINUTE }),
					rowOf({ at: T0 + minute * MINUTE, step: HOUR }),
				]),
			});
			const expire = (limit: number): Promise<number> =>
				metrics.expire({ step: MINUTE, before: T0 + 3 * MINUTE, limit });
			const left = async (step: number): Promise<number[]> =>
				(await metrics.read({ step, from: 0, to: T0 + HOUR }))
					.map(({ at }) => (at - T0) / MINUTE)
					.toSorted((one, other) => one - other);
			expect(await expire(2)).toBe(2);
			expect(await left(MINUTE)).toEqual([2, 3]);
			expect([await expire(9), await expire(9)]).toEqual([1, 0]);
			expect([await left(MINUTE), await left(HOUR)]).toEqual([[3], [0, 1, 2, 3]]);
		}));

	it("D39: what was counted of an endpoint is forgotten with it", () =>
		alone(open, async ({ store: { metrics, endpoints } }) => {
			await endpoints.put({ id: "a", settings: "{}", now: T0 });
			await metrics.put({ rows: [rowOf(), rowOf({ step: HOUR }), rowOf({ endpoint: "b" })] });
			await endpoints.remove({ id: "a" });
			expect(await endpoints.forget({ id: "a", now: T0 })).toBe(true);
			expect(await metrics.read({ step: MINUTE, from: T0, to: T0 + HOUR })).toEqual([rowOf({ endpoint: "b" })]);
			expect(await metrics.read({ step: HOUR, from: T0, to: T0 + HOUR })).toEqual([]);
		}));
}
