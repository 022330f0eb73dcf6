/** The GPUs of this machine: what its launchers report of each. */
import { type GpuNeed, suits } from "../../core/workers/gpu-need.ts";
import type { MachineGpu } from "../../core/workers/gpus.ts";
import type { WorkersContext } from "./workers-context.ts";

/** Rounds to 0.1 GB of 10^9 bytes. */
export const gb = (bytes: number | undefined): number | undefined =>
	bytes === undefined ? undefined : Math.round(bytes / 1e8) / 10;

export function machineGpus(d: WorkersContext) {
	const launchers = [...d.launchers.values()];
	let sizes: readonly (number | undefined)[] = Array.from({ length: d.gpus }, () => undefined);
	let known: ReadonlyMap<string, MachineGpu> = new Map();
	/** The last GPUs that were read, by number. */
	let facts = known;
	let reading: Promise<unknown> | undefined;

	async function read(): Promise<readonly (number | undefined)[]> {
		const found = await Promise.all(launchers.map(async (each) => (await each.machineGpus?.()) ?? []));
		known = new Map(found.flat().map((gpu) => [gpu.id, gpu]));
		if (known.size > 0) facts = known;
		sizes = sizes.map((before, number) => gb(known.get(String(number))?.memory || undefined) ?? before);
		return sizes;
	}

	/** `nvidia-smi` takes seconds where the driver is not loaded. */
	function readInBackground(): void {
		if (reading) return;
		reading = read().finally(() => (reading = undefined));
		d.background.run("reading the GPUs of this machine", reading);
	}

	return {
		/** Reads all of them again. Returns their memory as `sizes` does. */
		read,
		/** The GPU of this number as it was read last; undefined if that reading did not find it. */
		now: (number: number): MachineGpu | undefined => known.get(String(number)),
		/** What is known of the GPU of this number, also if the last reading found none. */
		facts: (number: number): MachineGpu | undefined => facts.get(String(number)),
		/**
		 * Returns their memory by number in 10^9 bytes, undefined where it is not known. Reads it in the background if
		 * needed.
		 */
		sizes(): readonly (number | undefined)[] {
			if (sizes.includes(undefined)) readInBackground();
			return sizes;
		},
		/** Returns what programs need to find GPUs of these numbers. Reads it at the first call. */
		async addresses(numbers: readonly number[]): Promise<(number | string)[]> {
			if (numbers.length > 0 && facts.size === 0) await read();
			return numbers.map((number) => facts.get(String(number))?.address ?? number);
		},
		/**
		 * Returns the numbers of those that fit; undefined while no GPU is known. Reads them in the background if needed.
		 */
		fitting(need: GpuNeed): number[] | undefined {
			if (facts.size === 0) readInBackground();
			if (facts.size === 0) return undefined;
			return sizes.flatMap((memoryGb = 0, number) => {
				const gpu = facts.get(String(number));
				return gpu && suits({ model: gpu.model, memoryGb, cuda: gpu.cuda }, need) ? number : [];
			});
		},
	};
}
