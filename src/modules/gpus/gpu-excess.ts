/** Whether a worker keeps to its part of a GPU (D27). */

/** How far over its part a worker may be, whichever is more: a share of it, or 10^9 bytes. */
const TOLERANCE = { share: 0.05, gb: 0.3 } as const;

/**
 * `bytes`: memory that its processes use on one of its GPUs. Returns a clause without full stop, undefined while that
 * is within its part.
 */
export function excessText(
	{ gpus, gpuMemoryGb }: { gpus: readonly number[]; gpuMemoryGb: number },
	bytes: number,
): string | undefined {
	const gb = bytes / 1e9;
	if (gb <= gpuMemoryGb + Math.max(TOLERANCE.gb, TOLERANCE.share * gpuMemoryGb)) return undefined;
	const where = gpus.length === 1 ? `GPU ${gpus[0]}` : "one GPU";
	return (
		`it uses ${Math.round(gb * 10) / 10} GB of ${where}, and its part is ${gpuMemoryGb} GB: raise gpuMemoryGb, ` +
		"or lower the worker's own limit, such as --gpu-memory-utilization"
	);
}
