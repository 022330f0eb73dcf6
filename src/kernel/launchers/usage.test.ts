import { describe, expect, it } from "vitest";
import { coreMeter } from "../core/workers/worker-usage.ts";
import { parseStat, type ProcessRow, procTable } from "./process/process-table.ts";
import { usageOfGroups, usageReader } from "./process/usage.ts";

describe("what workers use", () => {
	it("D48: cores are processor time over time, once there are two readings", () => {
		const cores = coreMeter();
		const [one, other] = [{}, {}];
		expect(cores(one, { at: 1000, cpuMs: 500 })).toBeUndefined();
		expect(cores(other, { at: 1500, cpuMs: 9000 }), "of another worker").toBeUndefined();
		expect(cores(one, { at: 3000, cpuMs: 3500 })).toBe(1.5);
		expect(cores(one, { at: 3000, cpuMs: 3600 }), "at the same time").toBeUndefined();
		expect(cores(one, { at: 5000, cpuMs: 0 }), "a new process").toBeUndefined();
		expect(cores(one, { at: 6000, cpuMs: 500 })).toBe(0.5);
	});

	it("D48: workers that are asked for in turn, one endpoint after another, all have cores", () => {
		let at = 0;
		const usageOf = usageReader(() => (at += 1000));
		const { pgid: pid } = procTable.find(process.pid)!;
		const [one, other] = [{ pid }, { pid }];
		usageOf(new Map([["one", one]]));
		usageOf(new Map([["other", other]]));
		expect(usageOf(new Map([["one", one]])).get("one")?.cores).toBeGreaterThanOrEqual(0);
		expect(usageOf(new Map([["other", other]])).get("other")?.cores).toBeGreaterThanOrEqual(0);
	});

	it("D48: the usage of a process group is that of all its processes", () => {
		const row = (pid: number, pgid: number, cpuMs: number, memory: number): ProcessRow => ({
			pid,
			pgid,
			startTime: pid,
			ended: false,
			usage: { cpuMs, memory },
		});
		const all = (): ProcessRow[] => [row(7, 7, 10, 100), row(8, 7, 5, 50), row(9, 9, 1, 1)];
		expect([...usageOfGroups({ ...procTable, all })]).toEqual([
			[7, { cpuMs: 15, memory: 150, processes: 2 }],
			[9, { cpuMs: 1, memory: 1, processes: 1 }],
		]);
	});

	it("D48: the usage of an adapter is also that of its server, whose process group is its own", () => {
		const row = (pid: number, pgid: number, parent: number): ProcessRow => ({
			...{ pid, pgid, parent, startTime: pid, ended: false },
			usage: { cpuMs: 1, memory: 10 },
		});
		// 7 is the adapter, 8 its server with the child 9; 5 is the service, which started the worker 6 too.
		const all = (): ProcessRow[] => [row(5, 5, 1), row(6, 6, 5), row(7, 7, 5), row(8, 8, 7), row(9, 8, 8)];
		const groups = usageOfGroups({ ...procTable, all }, new Set([6, 7]));
		expect([...groups].map(([pid, { processes }]) => [pid, processes])).toEqual([
			[5, 1],
			[6, 1],
			[7, 3],
		]);
	});

	it("D48: a line of /proc is read after the name, which may contain anything", () => {
		const fields = ["S", 1, 77, ...Array.from({ length: 8 }, () => 0), 100, 20, 3, 4];
		const stat = `7 (a) b (c) ${[...fields, 0, 0, 0, 0, 0, 0, 250].join(" ")}`;
		expect(parseStat(7, stat)).toMatchObject({
			parent: 1,
			pgid: 77,
			usage: { cpuMs: 1270, memory: 250 * 4096 },
		});
	});
});
