/** Time between first call and eviction: loading a model must pay off. */
export const MIN_STAY_MS = 10_000;

/** Times in ms since the epoch. */
export interface GpuHolder {
	worker: string;
	endpoint: string;
	/** Numbers from 0. */
	gpus: readonly number[];
	/** Absent while busy or starting. */
	idleSince?: number | undefined;
	/** Absent while starting. */
	readyAt?: number | undefined;
	stopping: boolean;
}

export interface GpuQuery {
	total: number;
	needed: number;
	endpoint: string;
	holders: readonly GpuHolder[];
	keep: (endpoint: string) => number;
	now: number;
}

/** `evict` is empty if eviction does not help or enough GPUs become free. */
export type GpuAllocation = { gpus: number[] } | { evict: string[] };

/** Evicts idle workers of other endpoints, longest idle first. */
export function allocateGpus(q: GpuQuery): GpuAllocation {
	const taken = new Set(q.holders.flatMap(({ gpus }) => gpus));
	const free = Array.from({ length: q.total }, (_, gpu) => gpu).filter((gpu) => !taken.has(gpu));
	if (free.length >= q.needed) return { gpus: free.slice(0, q.needed) };
	const freeSoon = q.holders.filter(({ stopping }) => stopping).reduce((sum, { gpus }) => sum + gpus.length, 0);
	const idle = evictable(q).map(({ worker, gpus }) => ({ id: worker, gpus: gpus.length }));
	return { evict: firstWith(q.needed - free.length - freeSoon, idle) };
}

/** Returns the idle workers of other endpoints that may be stopped, longest idle first. */
export function evictable<H extends Omit<GpuHolder, "gpus">>({
	holders,
	endpoint,
	keep,
	now,
}: Pick<GpuQuery, "endpoint" | "keep" | "now"> & { holders: readonly H[] }): H[] {
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
	return idle.filter((holder) => {
		const others = remaining.get(holder.endpoint)! - 1;
		if (others < keep(holder.endpoint)) return false;
		remaining.set(holder.endpoint, others);
		return true;
	});
}

interface Pooled {
	id: string;
	gpus: number;
}

/** The same for a platform that places workers itself, of `idle` and `leaving` ones that could have the same GPUs. */
export function roomByCount(q: { needed: number; idle: readonly Pooled[]; leaving: readonly Pooled[] }): string[] {
	const freeSoon = q.leaving.reduce((sum, { gpus }) => sum + gpus, 0);
	return q.needed === 0 ? [] : firstWith(q.needed - freeSoon, q.idle);
}

/** Returns the first workers that have so many GPUs together; none where all have fewer. */
export function firstWith(missing: number, workers: readonly Pooled[]): string[] {
	const first: string[] = [];
	let found = 0;
	for (const { id, gpus } of workers) {
		if (found >= missing) break;
		if (gpus === 0) continue;
		first.push(id);
		found += gpus;
	}
	return found >= missing ? first : [];
}
