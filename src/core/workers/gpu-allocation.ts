/** Which GPUs of this machine a new worker gets, and which workers must stop for it. */

/** Minimum time from first call to eviction, ms: loading a model must pay off. */
export const MIN_STAY_MS = 10_000;

/** A worker that holds GPUs. Times in ms since the epoch. */
export interface GpuHolder {
	worker: string;
	endpoint: string;
	/** GPU numbers, from 0. */
	gpus: readonly number[];
	/** Absent while busy or starting. */
	idleSince?: number | undefined;
	/** Time of the first call; absent while starting. */
	readyAt?: number | undefined;
	/** Its GPUs become free soon. */
	stopping: boolean;
}

export interface GpuQuery {
	/** GPUs of the machine. */
	total: number;
	/** GPUs that the new worker needs. */
	needed: number;
	/** Endpoint of the new worker. */
	endpoint: string;
	holders: readonly GpuHolder[];
	/** `workersMin` of an endpoint. */
	keep: (endpoint: string) => number;
	now: number;
}

/** GPUs, or workers to stop first; none if eviction does not help or enough GPUs become free. */
export type GpuAllocation = { gpus: number[] } | { evict: string[] };

/** Lowest GPU numbers first. Evicts idle workers of other endpoints, longest idle first. */
export function allocateGpus(q: GpuQuery): GpuAllocation {
	const taken = new Set(q.holders.flatMap(({ gpus }) => gpus));
	const free = Array.from({ length: q.total }, (_, gpu) => gpu).filter((gpu) => !taken.has(gpu));
	if (free.length >= q.needed) return { gpus: free.slice(0, q.needed) };
	const freeSoon = q.holders.filter(({ stopping }) => stopping).reduce((sum, { gpus }) => sum + gpus.length, 0);
	const missing = q.needed - free.length - freeSoon;
	return { evict: missing > 0 ? selectEvictions(q, missing) : [] };
}

/** Idle workers that together hold `missing` GPUs; none if all of them hold fewer. */
function selectEvictions({ holders, endpoint, keep, now }: GpuQuery, missing: number): string[] {
	const remaining = new Map<string, number>();
	for (const holder of holders)
		if (!holder.stopping) remaining.set(holder.endpoint, (remaining.get(holder.endpoint) ?? 0) + 1);
	const idle = holders
		.filter(
			(holder) =>
				holder.endpoint !== endpoint &&
				!holder.stopping &&
				holder.idleSince !== undefined &&
				now - (holder.readyAt ?? now) >= MIN_STAY_MS,
		)
		.toSorted((a, b) => a.idleSince! - b.idleSince!);
	const evicted: string[] = [];
	let found = 0;
	for (const holder of idle) {
		const others = remaining.get(holder.endpoint)! - 1;
		if (found >= missing || others < keep(holder.endpoint)) continue;
		remaining.set(holder.endpoint, others);
		evicted.push(holder.worker);
		found += holder.gpus.length;
	}
	return found >= missing ? evicted : [];
}
