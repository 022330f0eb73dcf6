import { coreMeter, type WorkerUsage } from "../../core/workers/worker-usage.ts";
import { processTable, type ProcessUsage } from "./process-table.ts";

export interface GroupUsage extends ProcessUsage {
	processes: number;
}

/**
 * Empty where the process list has no usage. A group that a process of `workers` started, as an adapter does with its
 * server, counts to that of its worker.
 */
export function usageOfGroups(table = processTable, workers: ReadonlySet<number> = new Set()): Map<number, GroupUsage> {
	const groups = new Map<number, GroupUsage>();
	const rows = table.all();
	const parents = new Map(rows.filter(({ pid, pgid }) => pid === pgid).map(({ pid, parent = 0 }) => [pid, parent]));
	for (const { pgid, usage } of rows) {
		if (!usage) continue;
		const parent = parents.get(pgid) ?? 0;
		const group = workers.has(parent) ? parent : pgid;
		const sum = groups.get(group) ?? { cpuMs: 0, memory: 0, processes: 0 };
		sum.cpuMs += usage.cpuMs;
		sum.memory += usage.memory;
		sum.processes += 1;
		groups.set(group, sum);
	}
	return groups;
}

export function usageReader(
	now: () => number,
): (leaders: ReadonlyMap<string, { pid: number }>) => Map<string, WorkerUsage> {
	const cores = coreMeter();
	return (leaders) => {
		const groups = usageOfGroups(processTable, new Set([...leaders.values()].map(({ pid }) => pid)));
		const at = now();
		const found = new Map<string, WorkerUsage>();
		for (const [worker, leader] of leaders) {
			const usage = groups.get(leader.pid);
			if (!usage) continue;
			const { cpuMs, ...rest } = usage;
			found.set(worker, { cores: cores(leader, { at, cpuMs }), ...rest });
		}
		return found;
	};
}
