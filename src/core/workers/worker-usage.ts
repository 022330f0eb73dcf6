/** What a worker uses of its machine, where the platform says so cheaply (D48). */

export interface WorkerUsage {
	/** Processor cores, on average since the reading before; absent at the first one. */
	cores?: number | undefined;
	/** Memory of all its processes, bytes. */
	memory?: number | undefined;
	/** Maximum memory it may use, bytes. */
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

/** Processor time of a worker so far, ms, and when it was read. */
export interface CpuReading {
	at: number;
	cpuMs: number;
}

/** Cores that a worker used since its reading before; `worker` is its record in the launcher. */
type CoreMeter = (worker: object, reading: CpuReading) => number | undefined;

export function coreMeter(): CoreMeter {
	const last = new WeakMap<object, CpuReading>();
	return (worker, reading) => {
		const before = last.get(worker);
		last.set(worker, reading);
		if (!before || reading.at <= before.at || reading.cpuMs < before.cpuMs) return undefined;
		return (reading.cpuMs - before.cpuMs) / (reading.at - before.at);
	};
}
