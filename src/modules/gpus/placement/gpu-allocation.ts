/** Which GPUs of this machine a worker gets (D27). */
import { evictable, type EvictionQuery, type Holder } from "./eviction.ts";
import { type AssignedGpus, freeGb, type GpuPart } from "../../../kernel/core/workers/gpu-part.ts";
import { firstThatSuffice } from "../../../kernel/core/workers/fewest.ts";

export interface GpuHolder extends GpuPart, Holder {
	/** Numbers from 0. */
	gpus: readonly number[];
}

export interface GpuQuery extends GpuPart, EvictionQuery<GpuHolder> {
	/** Memory of each GPU by number, in 10^9 bytes; undefined: not known, so it is assigned whole only. */
	sizes: readonly (number | undefined)[];
	/** The only GPUs that count. Default: all. */
	only?: readonly number[];
}

/**
 * `evict` is empty if eviction does not help now or enough GPUs become free. `reserved`: numbers of the GPUs that it
 * gets then, or in the end, so that no endpoint behind it takes them meanwhile; empty if it never gets any.
 */
export type GpuAllocation = AssignedGpus | { evict: string[]; reserved: readonly number[] };

/**
 * Wakes a worker that sleeps where its own GPUs have room, the first such one; else as {@link allocateGpus}, but rather
 * with room on the GPUs of one that sleeps, because that is there sooner than a new one. Not if a busy worker had to
 * leave these, and idle ones suffice elsewhere: its job may take long.
 */
export function wakeOrAllocate<W extends { gpus: readonly number[] }>(
	q: GpuQuery,
	asleep: readonly W[],
): { wake: W } | GpuAllocation {
	const own = asleep.map(({ gpus }) => allocateGpus({ ...q, only: gpus }));
	const free = asleep[own.findIndex((each) => "gpus" in each)];
	if (free) return { wake: free };
	const anywhere = allocateGpus(q);
	if ("gpus" in anywhere) return anywhere;
	const idle = new Set(q.holders.filter(({ idleSince }) => idleSince !== undefined).map(({ worker }) => worker));
	const helping = [...own, anywhere].flatMap((each) => ("evict" in each && each.evict.length > 0 ? [each] : []));
	return helping.find(({ evict }) => evict.every((worker) => idle.has(worker))) ?? helping[0] ?? anywhere;
}

export function allocateGpus(q: GpuQuery): GpuAllocation {
	const gpus = freeGpus(q, q.holders);
	if (gpus) return { gpus, ...sizeOf(gpus, q.sizes) };
	const staying = q.holders.filter(({ stopping }) => !stopping);
	const gpusWithout = (some: readonly GpuHolder[]): number[] | undefined =>
		freeGpus(
			q,
			staying.filter((holder) => !some.includes(holder)),
		);
	const suffices = (some: readonly GpuHolder[]): boolean => gpusWithout(some) !== undefined;
	const evicted = firstThatSuffice(evictable(q), suffices);
	const left = suffices(evicted) ? evicted : firstThatSuffice(evictable(q, { later: true }), suffices);
	return { evict: evicted.map(({ worker }) => worker), reserved: gpusWithout(left) ?? [] };
}

/** Returns the fewest workers of `own` without which GPUs suffice; none if they never do, or once others have ended. */
export function ownMakers(q: GpuQuery, own: ReadonlySet<string>): string[] {
	const staying = q.holders.filter(({ stopping }) => !stopping);
	const suffices = (some: readonly GpuHolder[]): boolean =>
		freeGpus(
			q,
			staying.filter((holder) => !some.includes(holder)),
		) !== undefined;
	const may = staying.filter(({ worker }) => own.has(worker));
	return firstThatSuffice(may, suffices).map(({ worker }) => worker);
}

/** Whole GPUs by number; parts where they leave the least memory unused. */
function freeGpus({ sizes, needed, memoryGb, only }: GpuQuery, holders: readonly GpuHolder[]): number[] | undefined {
	const each = sizes.map((size, gpu) => {
		const parts = holders.filter(({ gpus }) => gpus.includes(gpu));
		return { gpu, isFree: parts.length === 0, freeGb: freeGb(size, parts) };
	});
	const all = only ? each.filter(({ gpu }) => only.includes(gpu)) : each;
	const fitting =
		memoryGb === undefined
			? all.filter(({ isFree }) => isFree)
			: all.filter((one) => one.freeGb >= memoryGb).toSorted((a, b) => a.freeGb - b.freeGb);
	return fitting.length < needed ? undefined : fitting.slice(0, needed).map(({ gpu }) => gpu);
}

function sizeOf(gpus: readonly number[], sizes: GpuQuery["sizes"]): Pick<AssignedGpus, "sizeGb"> {
	const known = gpus.flatMap((gpu) => sizes[gpu] ?? []);
	return known.length === 0 ? {} : { sizeGb: Math.max(...known) };
}
