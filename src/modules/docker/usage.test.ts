import { describe, expect, it } from "vitest";
import { memoryOf } from "./usage.ts";

describe("what a container uses", () => {
	it("D48: memory of a container is without the cache of files, as docker stats shows it", () => {
		const stats = (usage: number, limit: number): ReturnType<typeof memoryOf> =>
			memoryOf({ memory_stats: { usage, limit, stats: { inactive_file: 30 } } });
		expect(stats(100, 1000)).toEqual({ memory: 70, memoryMax: 1000 });
		expect(stats(10, 2 ** 63)).toEqual({ memory: 0, memoryMax: undefined });
		expect(memoryOf({})).toEqual({});
	});
});
