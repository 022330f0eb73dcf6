/** What `nvidia-smi` prints: GPUs, MIG devices, and the memory of processes. */
import { cudaOf } from "../core/workers/cuda.ts";
import type { MachineGpu } from "../core/workers/gpus.ts";

const FORMAT = "--format=csv,noheader,nounits";

/** Arguments for {@link gpusIn}, {@link withMigDevices} and {@link processesIn}. */
const FIELDS = "index,name,memory.total,memory.used,utilization.gpu,uuid,driver_version,mig.mode.current";
const GPUS = [`--query-gpu=${FIELDS}`, FORMAT];
const LIST = ["-L"];
export const PROCESSES = ["--query-compute-apps=gpu_uuid,pid,used_memory", FORMAT];

const MIB = 1024 ** 2;

export interface SmiGpu extends MachineGpu {
	/** It is used only as MIG devices. */
	isSplit: boolean;
}

export interface GpuProcess {
	/** UUID, of a MIG device that of the whole GPU. */
	gpu: string;
	pid: number;
	/** Bytes. */
	memory: number;
}

/** `run` rejects with what the program prints if it fails. */
export async function readSmi(run: (args: readonly string[]) => Promise<string>): Promise<MachineGpu[]> {
	const found = gpusIn(await run(GPUS));
	return found.some(({ isSplit }) => isSplit) ? withMigDevices(found, await run(LIST)) : found;
}

/** Lines such as `0, NVIDIA L4, 23034, 512, 37, GPU-8f1c, 550.54.15, [N/A]`, memory in MiB; `[N/A]` is unknown. */
export function gpusIn(text: string): SmiGpu[] {
	return rowsOf(text).flatMap(([id = "", model, total, used, busy, uuid, driver = "", mig]) => {
		if (!/^\d+$/.test(id) || model === undefined) return [];
		return {
			id,
			uuid: uuid !== undefined && isUuid(uuid) ? uuid : undefined,
			model,
			memory: bytesOf(total) ?? 0,
			memoryUsed: bytesOf(used),
			busy: numberOf(busy),
			cuda: cudaOf(driver),
			isSplit: mig === "Enabled",
		};
	});
}

/**
 * Replaces split GPUs by their MIG devices. `list`: lines such as `GPU 0: NVIDIA A100 (UUID: GPU-8f1c)` and below it
 * `MIG 1g.10gb Device 0: (UUID: MIG-feb8)`. If there are any, GPUs are numbered in this order and addressed by UUID.
 */
export function withMigDevices(gpus: readonly SmiGpu[], list: string): MachineGpu[] {
	let parent: string | undefined;
	const devices: { profile: string; uuid: string; parent: string | undefined }[] = [];
	for (const line of list.split("\n").map((each) => each.trim())) {
		parent = /^GPU \d+: .*\(UUID: ([^\s)]+)\)$/.exec(line)?.[1] ?? parent;
		const [, profile, uuid] = /^MIG (\S+) +Device +\d+: \(UUID: (MIG-[^\s)]+)\)$/.exec(line) ?? [];
		if (profile !== undefined && uuid !== undefined) devices.push({ profile, uuid, parent });
	}
	const all = gpus.flatMap(({ isSplit, ...gpu }): MachineGpu[] => {
		if (!isSplit) return [gpu];
		return devices
			.filter((device) => device.parent === gpu.uuid)
			.map(({ profile, uuid }) => ({
				id: gpu.id,
				uuid,
				model: `${gpu.model} MIG ${profile}`,
				memory: Number(/\.(\d{1,4})gb/.exec(profile)?.[1] ?? 0) * 1e9,
				cuda: gpu.cuda,
			}));
	});
	return all.map((gpu, number) => ({ ...gpu, id: String(number), address: gpu.uuid }));
}

/** Lines such as `GPU-8f1c, 4711, 11178`, memory in MiB. */
export function processesIn(text: string): GpuProcess[] {
	return rowsOf(text).flatMap(([gpu = "", pid, used]) => {
		const memory = bytesOf(used);
		return isUuid(gpu) && numberOf(pid) !== undefined && memory !== undefined ? { gpu, pid: Number(pid), memory } : [];
	});
}

/** Returns the memory of workers by GPU; other processes have no worker. */
export function memoryByWorker(
	processes: readonly GpuProcess[],
	workerOf: (pid: number) => string | undefined,
): Map<string, Map<string, number>> {
	const found = new Map<string, Map<string, number>>();
	for (const { gpu, pid, memory } of processes) {
		const worker = workerOf(pid);
		if (worker === undefined) continue;
		const byGpu = found.get(worker) ?? new Map<string, number>();
		found.set(worker, byGpu.set(gpu, (byGpu.get(gpu) ?? 0) + memory));
	}
	return found;
}

function rowsOf(text: string): string[][] {
	return text.split("\n").map((line) => line.split(",").map((each) => each.trim()));
}

const isUuid = (text: string): boolean => /^(?:GPU|MIG)-\S+$/.test(text);

function numberOf(text: string | undefined): number | undefined {
	return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function bytesOf(mib: string | undefined): number | undefined {
	const number = numberOf(mib);
	return number === undefined ? undefined : number * MIB;
}
