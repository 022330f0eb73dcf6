/** What a worker uses of its machine, where the platform reports it cheaply (D48). */

export interface WorkerUsage {
	/** On average since the reading before; absent at the first one. */
	cores?: number | undefined;
	/** Bytes, of all its processes. */
	memory?: number | undefined;
	/** Bytes. */
	memoryMax?: number | undefined;
	processes?: number | undefined;
	image?: string | undefined;
	gpus?: readonly GpuUsage[] | undefined;
}

/** Use is unknown on machines of others. */
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

/** `cpuMs`: processor time so far. */
export interface CpuReading {
	at: number;
	cpuMs: number;
}

export function coreMeter() {
	const last = new WeakMap<object, CpuReading>();
	return (worker: object, reading: CpuReading): number | undefined => {
		const before = last.get(worker);
		last.set(worker, reading);
		if (!before || reading.at <= before.at || reading.cpuMs < before.cpuMs) return undefined;
		return (reading.cpuMs - before.cpuMs) / (reading.at - before.at);
	};
}
