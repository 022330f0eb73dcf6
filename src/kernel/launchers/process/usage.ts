import { coreMeter, type WorkerUsage } from "../../core/workers/worker-usage.ts";
import { processTable, type ProcessUsage } from "./process-table.ts";

export interface GroupUsage extends ProcessUsage {
	processes: number;
}

/** Empty where the process list has no usage. */
export function usageOfGroups(table = processTable): Map<number, GroupUsage> {
	const groups = new Map<number, GroupUsage>();
	for (const { pgid, usage } of table.all()) {
		if (!usage) continue;
		const sum = groups.get(pgid) ?? { cpuMs: 0, memory: 0, processes: 0 };
		sum.cpuMs += usage.cpuMs;
		sum.memory += usage.memory;
		sum.processes += 1;
		groups.set(pgid, sum);
	}
	return groups;
}

export function usageReader(
	now: () => number,
): (leaders: ReadonlyMap<string, { pid: number }>) => Map<string, WorkerUsage> {
	const cores = coreMeter();
	return (leaders) => {
		const groups = usageOfGroups();
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
