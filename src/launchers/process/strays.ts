/**
 * Worker processes that a killed service started but did not record, found by their initial
 * environment. Linux only.
 */
import type { Clock } from "../../clock.ts";
import { killAll, markedProcesses, SERVICE_VARIABLE, WORKER_VARIABLE } from "./process-group.ts";
import { processTable } from "./process-table.ts";

/**
 * Processes with `SLUICE_SERVICE_ID=serviceId` that belong to no worker with a leader in `known`,
 * neither by process group nor by `RUNPOD_POD_ID`.
 */
export function findStrays({ serviceId, known }: { serviceId: string; known: Iterable<number> }): number[] {
	const groups = new Set(known);
	const workers = new Set([...groups].map(workerMark).filter((mark) => mark !== undefined));
	return markedProcesses([`${SERVICE_VARIABLE}=${serviceId}`]).filter((pid) => {
		const row = processTable.find(pid);
		const mark = workerMark(pid);
		return row !== undefined && !groups.has(row.pgid) && !(mark !== undefined && workers.has(mark));
	});
}

/**
 * Kills a service's strays; returns their pids once ended (D34). Throws if one survives SIGKILL by
 * 10 s.
 */
export async function sweepStrays({
	clock,
	...which
}: {
	clock: Clock;
	serviceId: string;
	known: Iterable<number>;
}): Promise<number[]> {
	const known = [...which.known];
	const ended = new Set<number>();
	await killAll({
		clock,
		find() {
			const strays = findStrays({ serviceId: which.serviceId, known });
			for (const pid of strays) ended.add(pid);
			return strays;
		},
	});
	return [...ended];
}

function workerMark(pid: number): string | undefined {
	return processTable.environment(pid).find((entry) => entry.startsWith(`${WORKER_VARIABLE}=`));
}
