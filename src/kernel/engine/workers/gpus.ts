/** The GPUs of this machine and of Docker hosts, as this server sees them. */
import { freeGb } from "../../core/workers/gpu-part.ts";
import type { GpuHolderView, GpuView } from "../../core/workers/gpus.ts";
import { type HostGpuPart, type HostView, LOCAL } from "../../core/workers/hosts.ts";
import { gb, machineGpus } from "./machine-gpus.ts";
import { holdsGpus, isSleeping, isStarting, type Worker } from "./worker-registry.ts";
import type { WorkersContext } from "./workers-context.ts";

/** A GPU that Sluice has assigned, and a worker that has it or a part of it. */
export interface HeldGpu {
	host: string;
	/** Number on this machine, or UUID. */
	id: string;
	worker: Worker;
}

/** A GPU with several workers counts for the first of these that one of them has. */
const MOST_ACTIVE = ["busy", "starting", "idle", "stopping", "other"] as const;

/** Bytes by worker and UUID of the GPU, where they are known. */
export type GpuMemory = ReadonlyMap<string, ReadonlyMap<string, number>>;

export function createGpus(d: WorkersContext, hosts: () => readonly HostView[]) {
	const machine = machineGpus(d);

	async function memoryOf(workers: readonly Worker[]): Promise<GpuMemory> {
		const byLauncher = Map.groupBy(workers, ({ launcher }) => launcher);
		const found = await Promise.all(
			[...byLauncher].map(async ([type, own]) => await d.launchers.get(type)?.gpuMemory?.(own.map(({ id }) => id))),
		);
		return new Map(found.flatMap((each) => [...(each ?? [])]));
	}

	async function here(): Promise<GpuView[]> {
		if (d.gpus === 0) return [];
		const workers = [...d.registry.all()].filter(({ gpus }) => gpus.length > 0);
		const [memory, sizes] = await Promise.all([memoryOf(workers), machine.read()]);
		return sizes.map((memoryGb, number) => {
			const { uuid, model, cuda, memoryUsed, busy } = machine.now(number) ?? {};
			const holders = workers
				.filter((each) => holdsGpus(each) && each.gpus.includes(number))
				.map((worker) => ({ ...viewOf(worker), usedGb: gb(bytesOn(uuid, memory.get(worker.id))) }));
			return {
				host: LOCAL,
				id: String(number),
				uuid,
				model,
				memoryGb,
				cuda,
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
		/** Number of GPUs of this machine. */
		count: d.gpus,
		/** Returns what is done with each GPU, as last read. */
		uses(): { host: string; model?: string | undefined; state: GpuHolderView["state"] | "free" }[] {
			const workers = [...d.registry.all()].filter(holdsGpus);
			const own = machine.sizes().map((_, number) => ({
				host: LOCAL,
				model: machine.facts(number)?.model,
				holders: workers.filter(({ gpus }) => gpus.includes(number)).map(viewOf),
			}));
			return [...own, ...ofHosts()].map(({ host, model, holders }) => {
				const held = (state: GpuHolderView["state"]): boolean => holders.some((each) => each.state === state);
				return { host, model, state: MOST_ACTIVE.find(held) ?? "free" };
			});
		},
		/** Returns an entry for each of its workers. Reads nothing. */
		held(): HeldGpu[] {
			const workers = [...d.registry.all()];
			const byId = new Map(workers.map((worker) => [worker.id, worker]));
			return [
				...workers
					.filter(holdsGpus)
					.flatMap((worker) => worker.gpus.map((number) => ({ host: LOCAL, id: String(number), worker }))),
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
		memoryOf,
		addresses: machine.addresses,
		sizes: machine.sizes,
		fitting: machine.fitting,
	};
}

function viewOf(worker: Worker): GpuHolderView {
	const { id, endpoint, gpuMemoryGb: memoryGb, draining, createdAt, sleep, idleSince, held } = worker;
	const holder = { worker: id, endpoint, memoryGb };
	if (draining || isSleeping(worker)) return { state: "stopping", ...holder };
	if (isStarting(worker)) return { state: "starting", ...holder, since: sleep?.since ?? createdAt };
	if (held.size === 0) return { state: "idle", ...holder, since: idleSince };
	return { state: "busy", ...holder, since: Math.min(...[...held.values()].map(({ handedAt }) => handedAt)) };
}

/** Processes on a MIG device count for the whole GPU, and a worker sees one such device. */
function bytesOn(uuid: string | undefined, byGpu: ReadonlyMap<string, number> | undefined): number | undefined {
	if (uuid === undefined || !byGpu) return undefined;
	return uuid.startsWith("MIG-") ? Math.max(...byGpu.values()) : byGpu.get(uuid);
}
