/** Parts of GPUs that workers have (D27). */

/** Memory of each GPU that is never promised to parts, in 10^9 bytes: its driver and display take some. */
export const RESERVE_GB = 0.5;

/** What a worker has of each of its GPUs in 10^9 bytes; absent: the whole GPU. */
export interface GpuPart {
	memoryGb?: number | undefined;
}

export interface AssignedGpus {
	/** Numbers from 0. */
	gpus: readonly number[];
	/** Memory of the largest of them in 10^9 bytes, where it is known. */
	sizeGb?: number | undefined;
}

/** Returns the memory that further parts may have, in 10^9 bytes. */
export function freeGb(size: number | undefined, parts: readonly GpuPart[]): number {
	const taken = parts.reduce((sum, { memoryGb = Infinity }) => sum + memoryGb, RESERVE_GB);
	// To a byte: sums of decimal fractions are not exact.
	return Math.max(0, Math.round(((size ?? 0) - taken) * 1e9) / 1e9);
}
