/** Time between first call and eviction: loading a model must pay off. */
export const MIN_STAY_MS = 10_000;

/** Memory of each GPU that is never promised to parts, in 10^9 bytes: its driver and display take some. */
export const RESERVE_GB = 0.5;

/** What a worker has of each of its GPUs in 10^9 bytes; absent: the whole GPU. */
export interface GpuPart {
	memoryGb?: number | undefined;
}

/** Times in ms since the epoch. */
export interface GpuHolder extends GpuPart {
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

export interface GpuQuery extends GpuPart {
	/** Memory of each GPU by number, in 10^9 bytes; undefined: not known, so it is assigned whole only. */
	sizes: readonly (number | undefined)[];
	needed: number;
	endpoint: string;
	holders: readonly GpuHolder[];
	keep: (endpoint: string) => number;
	now: number;
}

export interface AssignedGpus {
	/** Numbers from 0. */
	gpus: readonly number[];
	/** Memory of the smallest of them in 10^9 bytes, where it is known. */
	sizeGb?: number | undefined;
}

/** `evict` is empty if eviction does not help or enough GPUs become free. */
export type GpuAllocation = AssignedGpus | { evict: string[] };

/** Evicts idle workers of other endpoints, longest idle first. */
export function allocateGpus(q: GpuQuery): GpuAllocation {
	const gpus = freeGpus(q, q.holders);
	if (gpus) return { gpus, ...sizeOf(gpus, q.sizes) };
	const staying = q.holders.filter(({ stopping }) => !stopping);
	const evicted = firstThatSuffice(
		evictable(q),
		(some) =>
			freeGpus(
				q,
				staying.filter((holder) => !some.includes(holder)),
			) !== undefined,
	);
	return { evict: evicted.map(({ worker }) => worker) };
}

/** Whole GPUs by number; parts where they leave the least memory unused. */
function freeGpus({ sizes, needed, memoryGb }: GpuQuery, holders: readonly GpuHolder[]): number[] | undefined {
	const all = sizes.map((size, gpu) => {
		const parts = holders.filter(({ gpus }) => gpus.includes(gpu));
		return { gpu, isFree: parts.length === 0, freeGb: freeGb(size, parts) };
	});
	const fitting =
		memoryGb === undefined
			? all.filter(({ isFree }) => isFree)
			: all.filter((each) => each.freeGb >= memoryGb).toSorted((a, b) => a.freeGb - b.freeGb);
	return fitting.length < needed ? undefined : fitting.slice(0, needed).map(({ gpu }) => gpu);
}

function sizeOf(gpus: readonly number[], sizes: GpuQuery["sizes"]): Pick<AssignedGpus, "sizeGb"> {
	const known = gpus.flatMap((gpu) => sizes[gpu] ?? []);
	return known.length === 0 ? {} : { sizeGb: Math.min(...known) };
}

/** Returns the memory that further parts may have, in 10^9 bytes. */
export function freeGb(size: number | undefined, parts: readonly GpuPart[]): number {
	const taken = parts.reduce((sum, { memoryGb = Infinity }) => sum + memoryGb, RESERVE_GB);
	// To a byte: sums of decimal fractions are not exact.
	return Math.max(0, Math.round(((size ?? 0) - taken) * 1e9) / 1e9);
}

/** Returns the first ones that suffice without those among them that are not needed; none where all are too few. */
export function firstThatSuffice<T>(all: readonly T[], suffice: (some: readonly T[]) => boolean): T[] {
	if (suffice([])) return [];
	const last = all.findIndex((_, index) => suffice(all.slice(0, index + 1)));
	let some = all.slice(0, last + 1);
	for (const one of some.slice(0, -1)) {
		const fewer = some.filter((each) => each !== one);
		if (suffice(fewer)) some = fewer;
	}
	return some;
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
	if (q.needed === 0) return [];
	const sum = (workers: readonly Pooled[]): number => workers.reduce((all, { gpus }) => all + gpus, 0);
	return firstThatSuffice(q.idle, (some) => sum(q.leaving) + sum(some) >= q.needed).map(({ id }) => id);
}
