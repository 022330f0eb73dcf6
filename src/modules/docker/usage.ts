import { coreMeter, type CpuReading, type WorkerUsage } from "../../kernel/core/workers/worker-usage.ts";
import type { ContainerStats } from "./daemon.ts";
import type { Worker } from "./worker.ts";

/** A limit above this means "no limit", bytes. */
const NO_LIMIT = 2 ** 50;

const NS_PER_MS = 1e6;
const GB = 1e9;

/** Measures the usage of workers; those whose daemon does not answer are left out. */
export function containerUsage(): (workers: readonly Worker[]) => Promise<Map<string, WorkerUsage>> {
	const cores = coreMeter();
	return async (workers) => {
		const found = new Map<string, WorkerUsage>();
		await Promise.all(
			workers.map(async (worker) => {
				const { id, place, userContainer: container } = worker;
				if (!place || container === undefined || !place.host.isReachable) return;
				const { host, gpus } = place;
				const [stats, inspected] = await Promise.all([
					host.daemon.stats(container),
					host.daemon.inspect(container),
				]).catch(() => []);
				if (!stats || !inspected) return;
				const reading = readingOf(stats);
				const known = (host.gpus ?? []).filter((gpu) => gpus.includes(gpu.id));
				found.set(id, {
					cores: reading && cores(worker, reading),
					...memoryOf(stats),
					processes: stats.pids_stats?.current,
					image: inspected.Config.Image,
					gpus: known.map((gpu) => ({
						id: gpu.id,
						model: gpu.model,
						memory: Math.round(gpu.memoryGb * GB),
					})),
				});
			}),
		);
		return found;
	};
}

function readingOf({ read, cpu_stats }: ContainerStats): CpuReading | undefined {
	const at = new Date(read ?? "").getTime();
	const total = cpu_stats?.cpu_usage?.total_usage;
	return Number.isNaN(at) || total === undefined ? undefined : { at, cpuMs: total / NS_PER_MS };
}

/** Memory without reclaimable file cache, as `docker stats` shows it. */
export function memoryOf({ memory_stats }: ContainerStats): Pick<WorkerUsage, "memory" | "memoryMax"> {
	const { usage, limit, stats } = memory_stats ?? {};
	if (usage === undefined) return {};
	const cache = stats?.["inactive_file"] ?? stats?.["total_inactive_file"] ?? 0;
	return {
		memory: Math.max(0, usage - cache),
		memoryMax: limit !== undefined && limit < NO_LIMIT ? limit : undefined,
	};
}
