/** What process workers use: processor time and memory of their process groups, from `/proc`. */
import { readFileSync, readdirSync } from "node:fs";
import { coresBetween } from "../../core/workers/worker-usage.ts";
import type { WorkerUsage } from "../../core/workers/worker-usage.ts";

/** `USER_HZ`, which is 100 on every Linux, and the page size of x86-64 and most of ARM64. */
const TICK_MS = 10;
const PAGE = 4096;

export interface GroupUsage {
	/** Processor time so far. */
	cpuMs: number;
	/** Bytes in memory, shared pages counted in each process. */
	memory: number;
	processes: number;
}

/** By process group; undefined where there is no `/proc`. */
export function usageOfGroups(): Map<number, GroupUsage> | undefined {
	let names: string[];
	try {
		names = readdirSync("/proc");
	} catch {
		return undefined;
	}
	const groups = new Map<number, GroupUsage>();
	for (const name of names) {
		if (!/^\d+$/.test(name)) continue;
		let stat: string;
		try {
			stat = readFileSync(`/proc/${name}/stat`, "latin1");
		} catch {
			continue;
		}
		const { group, ...usage } = parseStat(stat);
		const sum = groups.get(group);
		if (!sum) groups.set(group, usage);
		else {
			sum.cpuMs += usage.cpuMs;
			sum.memory += usage.memory;
			sum.processes += 1;
		}
	}
	return groups;
}

/** The name in brackets may contain spaces and brackets. */
export function parseStat(stat: string): GroupUsage & { group: number } {
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	const number = (index: number): number => Number(fields[index] ?? 0);
	return {
		group: number(2),
		// Its own, and that of children that have ended.
		cpuMs: (number(11) + number(12) + number(13) + number(14)) * TICK_MS,
		memory: number(21) * PAGE,
		processes: 1,
	};
}

/** Usage by worker; `leaders`: the process group of each. */
export function usageReader(
	now: () => number,
): (leaders: ReadonlyMap<string, number>) => Map<string, WorkerUsage> {
	let before = new Map<string, { at: number; cpuMs: number }>();
	return (leaders) => {
		const groups = usageOfGroups();
		const at = now();
		const readings = new Map<string, { at: number; cpuMs: number }>();
		const found = new Map<string, WorkerUsage>();
		for (const [worker, leader] of leaders) {
			const usage = groups?.get(leader);
			if (!usage) continue;
			const reading = { at, cpuMs: usage.cpuMs };
			readings.set(worker, reading);
			const { memory, processes } = usage;
			found.set(worker, { cores: coresBetween(before.get(worker), reading), memory, processes });
		}
		before = readings;
		return found;
	};
}
