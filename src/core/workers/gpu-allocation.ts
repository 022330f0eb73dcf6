/**
 * Which GPUs of this machine a new worker gets, and who makes room for it. Pure; `engine/seats.ts`
 * asks.
 */

/**
 * A worker stays at least so long after its first call before it makes room for another endpoint's,
 * ms: loading a model must pay.
 */
export const MIN_STAY_MS = 10_000;

/** A worker that holds GPUs. Times in ms since the epoch. */
export interface GpuHolder {
	worker: string;
	endpoint: string;
	/** Numbers of its GPUs, from 0. */
	gpus: readonly number[];
	/** Since when it has nothing to do; absent while it is busy or starting. */
	idleSince?: number | undefined;
	/** When it first called; absent while it is starting. */
	readyAt?: number | undefined;
	/** It is on its way out: its GPUs come free without anybody's help. */
	leaving: boolean;
}

/** A wish for GPUs, and everything that bears on it. */
export interface GpuQuery {
	/** GPUs of the machine. */
	total: number;
	/** GPUs the new worker needs. */
	needed: number;
	/** The endpoint that it is for. */
	endpoint: string;
	seats: readonly GpuHolder[];
	/** Workers an endpoint must keep (`workersMin`). */
	keep: (endpoint: string) => number;
	now: number;
}

/**
 * The GPUs given, or those who must go first; neither when nobody may go, or when enough are coming
 * free.
 */
export type GpuAllocation = { gpus: number[] } | { evict: string[] };

/**
 * Assigns GPUs, the lowest numbers first. Idle workers of other endpoints make room, the longest
 * idle first, never a busy one.
 */
export function allocateGpus(q: GpuQuery): GpuAllocation {
	const taken = new Set(q.seats.flatMap(({ gpus }) => gpus));
	const free = Array.from({ length: q.total }, (_, gpu) => gpu).filter((gpu) => !taken.has(gpu));
	if (free.length >= q.needed) return { gpus: free.slice(0, q.needed) };
	const coming = q.seats
		.filter(({ leaving }) => leaving)
		.reduce((sum, { gpus }) => sum + gpus.length, 0);
	const missing = q.needed - free.length - coming;
	return { evict: missing > 0 ? whoMakesRoom(q, missing) : [] };
}

/**
 * Idle workers in the order of their idleness, until so many GPUs come free; nobody when all
 * together would not do.
 */
function whoMakesRoom({ seats, endpoint, keep, now }: GpuQuery, missing: number): string[] {
	const left = new Map<string, number>();
	for (const seat of seats)
		if (!seat.leaving) left.set(seat.endpoint, (left.get(seat.endpoint) ?? 0) + 1);
	const idle = seats
		.filter(
			(seat) =>
				seat.endpoint !== endpoint &&
				!seat.leaving &&
				seat.idleSince !== undefined &&
				now - (seat.readyAt ?? now) >= MIN_STAY_MS,
		)
		.toSorted((a, b) => a.idleSince! - b.idleSince!);
	const going: string[] = [];
	let found = 0;
	for (const seat of idle) {
		const others = left.get(seat.endpoint)! - 1;
		if (found >= missing || others < keep(seat.endpoint)) continue;
		left.set(seat.endpoint, others);
		going.push(seat.worker);
		found += seat.gpus.length;
	}
	return found >= missing ? going : [];
}
