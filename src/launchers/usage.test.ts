import { describe, expect, it } from "vitest";
import { coresBetween } from "../core/workers/worker-usage.ts";
import { memoryOf } from "./docker/usage.ts";
import { gpusIn } from "./nvidia-smi.ts";
import { parseStat } from "./process/usage.ts";

const MIB = 1024 ** 2;

describe("what workers use", () => {
	it("D48: cores are processor time over time, once there are two readings", () => {
		const before = { at: 1000, cpuMs: 500 };
		expect(coresBetween(before, { at: 3000, cpuMs: 3500 })).toBe(1.5);
		expect(coresBetween(undefined, before)).toBeUndefined();
		expect(coresBetween(before, { at: 1000, cpuMs: 600 })).toBeUndefined();
		expect(coresBetween(before, { at: 3000, cpuMs: 0 }), "a new process").toBeUndefined();
	});

	it("D48: a line of /proc is read after the name, which may contain anything", () => {
		const fields = ["S", 1, 77, ...Array.from({ length: 8 }, () => 0), 100, 20, 3, 4];
		const stat = `7 (a) b (c) ${[...fields, 0, 0, 0, 0, 0, 0, 250].join(" ")}`;
		expect(parseStat(stat)).toEqual({ group: 77, cpuMs: 1270, memory: 250 * 4096, processes: 1 });
	});

	it("D48: lines of nvidia-smi; what a GPU does not report is left out", () => {
		const text =
			"0, NVIDIA L4, 23034, 512, 37\njunk, x, 1, 1, 1\n" +
			"2, Tesla T4, 15360, [N/A], [N/A]\nNo devices were found\n";
		expect(gpusIn(text)).toEqual([
			{
				id: "0",
				model: "NVIDIA L4",
				memory: 23_034 * MIB,
				memoryUsed: 512 * MIB,
				busy: 37,
			},
			{
				id: "2",
				model: "Tesla T4",
				memory: 15_360 * MIB,
				memoryUsed: undefined,
				busy: undefined,
			},
		]);
	});

	it("D48: memory of a container is without the cache of files, as docker stats shows it", () => {
		const stats = (usage: number, limit: number): ReturnType<typeof memoryOf> =>
			memoryOf({ memory_stats: { usage, limit, stats: { inactive_file: 30 } } });
		expect(stats(100, 1000)).toEqual({ memory: 70, memoryMax: 1000 });
		expect(stats(10, 2 ** 63)).toEqual({ memory: 0, memoryMax: undefined });
		expect(memoryOf({})).toEqual({});
	});
});
