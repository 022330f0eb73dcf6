import { describe, expect, it } from "vitest";
import { afterTry, SPECIFIED_SCHEDULE, waitsOf } from "./delivery.ts";

describe("schedules", () => {
	it("D21: long goes on after the specified attempts, up to a day later", () => {
		const schedule = waitsOf("long");
		const waits = Array.from({ length: 10 }, (_, n) => {
			const { state, dueAt } = afterTry({
				status: 500,
				used: n + 1,
				final: false,
				now: 0,
				schedule,
			});
			return state === "pending" ? dueAt : state;
		});
		expect(waits.slice(0, 3)).toEqual([...SPECIFIED_SCHEDULE, 60_000]);
		expect(waits.slice(-2)).toEqual([86_400_000, "failed"]);
	});

	it("spec 6, D21: short has the specified attempts, a list its own", () => {
		expect(waitsOf("short")).toEqual([10_000, 10_000]);
		expect(waitsOf([1000])).toEqual([1000]);
	});
});
