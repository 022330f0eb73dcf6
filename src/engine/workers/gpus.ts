/** The GPUs of this machine and of Docker hosts, as this server sees them. */
import { freeGb } from "../../core/workers/gpu-allocation.ts";
import type { GpuHolderView, GpuView } from "../../core/workers/gpus.ts";
import { type HostGpuPart, type HostView, LOCAL } from "../../core/workers/hosts.ts";
import type { GpuUsage } from "../../core/workers/worker-usage.ts";
import type { Worker } from "./worker-registry.ts";
import type { WorkersContext } from "./workers-context.ts";

/** A GPU that Sluice has assigned, and a worker that has it or a part of it. */
export interface HeldGpu {
	host: string;
	/** Number on this machine, or UUID. */
	id: string;
	worker: Worker;
}

/** Rounds to 0.1 GB of 10^9 bytes. */
const gb = (bytes: number | undefined): number | undefined =>
	bytes === undefined ? undefined : Math.round(bytes / 1e8) / 10;

export function createGpus(d: WorkersContext, hosts: () => readonly HostView[]) {
	const launchers = [...d.launchers.values()];
	let sizes: readonly (number | undefined)[] = Array.from({ length: d.gpus }, () => undefined);
	let reading: Promise<unknown> | undefined;

	/** Returns them by number; none where `nvidia-smi` does not answer. */
	async function readings(): Promise<ReadonlyMap<string, GpuUsage>> {
		const found = await Promise.all(launchers.map(async (each) => (await each.machineGpus?.()) ?? []));
		const known = new Map(found.flat().map((gpu) => [gpu.id, gpu]));
		sizes = sizes.map((before, number) => gb(known.get(String(number))?.memory || undefined) ?? before);
		return known;
	}

	async function here(): Promise<GpuView[]> {
		if (d.gpus === 0) return [];
		const known = await readings();
		const workers = [...d.registry.all()];
		return sizes.map((memoryGb, number) => {
			const { model, memoryUsed, busy } = known.get(String(number)) ?? {};
			const holders = workers.filter(({ gpus }) => gpus.includes(number)).map(viewOf);
			return {
				host: LOCAL,
				id: String(number),
				model,
				memoryGb,
				memoryUsedGb: gb(memoryUsed),
				busyPercent: busy,
				freeGb: memoryGb === undefined ? undefined : freeGb(memoryGb, holders),
				holders,
			};
		});
	}

	function ofHosts(): GpuView[] {
		const byId = new Map([...d.registry.all()].map((worker) => [worker.id, worker]));
		const holder = ({ worker, memoryGb }: HostGpuPart): GpuHolderView => {
			const known = worker === undefined ? undefined : byId.get(worker);
			return { ...(known ? viewOf(known) : { state: "other" }), memoryGb };
		};
		return hosts().flatMap(({ name, gpus }) =>
			gpus.map(({ parts, ...gpu }) => ({
				host: name,
				...gpu,
				freeGb: freeGb(gpu.memoryGb, parts),
				holders: parts.map(holder),
			})),
		);
	}

	return {
		/** Returns an entry for each of its workers. Reads nothing. */
		held(): HeldGpu[] {
			const workers = [...d.registry.all()];
			const byId = new Map(workers.map((worker) => [worker.id, worker]));
			return [
				...workers.flatMap((worker) => worker.gpus.map((number) => ({ host: LOCAL, id: String(number), worker }))),
				...hosts().flatMap(({ name: host, gpus }) =>
					gpus.flatMap(({ id, parts }) =>
						parts.flatMap((part) => {
							const worker = part.worker === undefined ? undefined : byId.get(part.worker);
							return worker ? [{ host, id, worker }] : [];
						}),
					),
				),
			];
		},
		list: async (): Promise<GpuView[]> => [...(await here()), ...ofHosts()],
		/**
		 * Returns the memory of this machine's GPUs by number in 10^9 bytes, undefined where it is not known. Reads it
		 * in the background if needed: `nvidia-smi` takes seconds where the driver is not loaded.
		 */
		sizes(): readonly (number | undefined)[] {
			if (sizes.includes(undefined) && !reading) {
				reading = readings().finally(() => (reading = undefined));
				d.background.run("reading the memory of GPUs", reading);
			}
			return sizes;
		},
	};
}

function viewOf(worker: Worker): GpuHolderView {
	const { id, endpoint, gpuMemoryGb: memoryGb, draining, ready, createdAt, idleSince, held } = worker;
	const holder = { worker: id, endpoint, memoryGb };
	if (draining) return { state: "stopping", ...holder };
	if (!ready) return { state: "starting", ...holder, since: createdAt };
	if (held.size === 0) return { state: "idle", ...holder, since: idleSince };
	return { state: "busy", ...holder, since: Math.min(...[...held.values()].map(({ handedAt }) => handedAt)) };
}
