/** What a worker uses of its machine, where the platform says so cheaply (D48). */

export interface WorkerUsage {
	/** Processor cores, on average since the reading before; absent at the first one. */
	cores?: number | undefined;
	/** Of all its processes, bytes. */
	memory?: number | undefined;
	/** Most memory it may use, bytes. */
	memoryMax?: number | undefined;
	processes?: number | undefined;
	/** The image of its container. */
	image?: string | undefined;
	gpus?: readonly GpuUsage[] | undefined;
}

/** A GPU of the machine; how much of it is used is unknown on machines of others. */
export interface GpuUsage {
	/** Number on the machine, or UUID. */
	id: string;
	model: string;
	/** Bytes. */
	memory: number;
	memoryUsed?: number | undefined;
	/** Percent of the time in which it computed. */
	busy?: number | undefined;
}

/** Cores from two readings of the processor time, ms. */
export function coresBetween(
	before: { at: number; cpuMs: number } | undefined,
	now: { at: number; cpuMs: number },
): number | undefined {
	if (!before || now.at <= before.at || now.cpuMs < before.cpuMs) return undefined;
	return (now.cpuMs - before.cpuMs) / (now.at - before.at);
}
