/** The GPUs of this machine and of Docker hosts, as this server sees them. */
import type { GpuView } from "../../core/workers/gpus.ts";
import { type HostView, LOCAL } from "../../core/workers/hosts.ts";
import type { GpuUsage } from "../../core/workers/worker-usage.ts";
import type { Worker } from "./worker-registry.ts";
import type { WorkersContext } from "./workers-context.ts";

type Use = Pick<GpuView, "state" | "worker" | "endpoint" | "since">;

const FREE: Use = { state: "free" };

/** Rounds to 0.1 GB of 10^9 bytes. */
const gb = (bytes: number | undefined): number | undefined =>
	bytes === undefined ? undefined : Math.round(bytes / 1e8) / 10;

export function createGpus(d: WorkersContext, hosts: () => readonly HostView[]) {
	const launchers = [...d.launchers.values()];

	/** Returns them by number; none where `nvidia-smi` does not answer. */
	async function readings(): Promise<ReadonlyMap<string, GpuUsage>> {
		const found = await Promise.all(launchers.map(async (each) => (await each.machineGpus?.()) ?? []));
		return new Map(found.flat().map((gpu) => [gpu.id, gpu]));
	}

	async function here(): Promise<GpuView[]> {
		if (d.gpus === 0) return [];
		const known = await readings();
		const holders = new Map(
			[...d.registry.all()].flatMap((worker) => worker.gpus.map((gpu) => [gpu, worker] as const)),
		);
		return Array.from({ length: d.gpus }, (_, number) => {
			const { model, memory, memoryUsed, busy } = known.get(String(number)) ?? {};
			return {
				host: LOCAL,
				id: String(number),
				model,
				memoryGb: memory === 0 ? undefined : gb(memory),
				memoryUsedGb: gb(memoryUsed),
				busyPercent: busy,
				...useOf(holders.get(number)),
			};
		});
	}

	function ofHosts(): GpuView[] {
		const byId = new Map([...d.registry.all()].map((worker) => [worker.id, worker]));
		return hosts().flatMap(({ name, gpus }) =>
			gpus.map(({ id, model, memoryGb, used, worker }) => {
				const holder = worker === undefined ? undefined : byId.get(worker);
				return { host: name, id, model, memoryGb, ...(used && !holder ? { state: "other" as const } : useOf(holder)) };
			}),
		);
	}

	return { list: async (): Promise<GpuView[]> => [...(await here()), ...ofHosts()] };
}

function useOf(worker: Worker | undefined): Use {
	if (!worker) return FREE;
	const { id, endpoint, draining, ready, createdAt, idleSince, held } = worker;
	const holder = { worker: id, endpoint };
	if (draining) return { state: "stopping", ...holder };
	if (!ready) return { state: "starting", ...holder, since: createdAt };
	if (held.size === 0) return { state: "idle", ...holder, since: idleSince };
	return { state: "busy", ...holder, since: Math.min(...[...held.values()].map(({ handedAt }) => handedAt)) };
}
