/**
 * Which workers make room for a worker of another endpoint (D28). Idle ones leave at once, but none in the first 10 s
 * after its first call: asleep where they can sleep and the asking endpoint uses GPUs of this machine, else stopped.
 * Busy ones finish their jobs first, and leave for a higher priority; one that has only low-priority jobs ranks below
 * every priority. Among equals a busy one makes room once its turn is over, and only if the asking endpoint has no GPU
 * or ends up with no more than the other keeps. Without this rule one busy endpoint could starve the others.
 *
 * Of these leave the fewest that suffice:
 * - for GPUs of this machine (process, and Docker without `hosts`) those that free enough (`gpu-allocation.ts`);
 * - on Docker hosts, where the new worker is `unschedulable`, those whose end gives it a place;
 * - on Kubernetes, if the cluster reports `Insufficient` for the GPU resource, Pods of the same context, GPU resource,
 *   GPU type, node selector and affinity; on Slurm, if the job waits for `Resources` or `Priority`, jobs of the
 *   same partition, GPU type and constraint. Both wait 5 s first.
 *
 * On Docker hosts, Kubernetes and Slurm workers that wait too are stopped as well, if their endpoint ranks lower or
 * makes room itself (`rivalsOf` in `platform-room.ts`). Each platform answers in `roomFor` of the `launcher.ts` of its
 * module; `platform-room.ts` asks it, and `engine/releases/rollouts.ts` for a worker of a new version.
 */

import { compareKeys, PRIORITIES, type Priority } from "../../../kernel/core/workers/priority.ts";

/** Time between first call and eviction: loading a model must pay off. */
export const MIN_STAY_MS = 10_000;

/** A busy worker's turn after its first call: at least this time, and at least this multiple of its start time. */
export const TURN_MS = 60_000;
const STARTS_PER_TURN = 4;

/** Times in ms since the epoch. */
export interface Holder {
	worker: string;
	endpoint: string;
	/** A number for each GPU that it has, whole or a part. */
	gpus: readonly unknown[];
	/** Absent while busy or starting. */
	idleSince?: number | undefined;
	/** All jobs that it has are of low priority (D20). */
	busyLow?: boolean;
	/** Absent while starting. */
	readyAt?: number | undefined;
	/** Begin of its start. */
	startingSince: number;
	stopping: boolean;
	/** No worker yet: kept for the next one of its endpoint. */
	isReserved?: boolean;
}

export interface EvictionQuery<H extends Holder> {
	/** The endpoint that needs room, and the number of GPUs of its worker. */
	endpoint: string;
	needed: number;
	holders: readonly H[];
	/** Answers for every endpoint. `workersMin`: this number of its workers stays. */
	settingsOf: (endpoint: string) => { priority: Priority; workersMin: number };
	/** False for an endpoint without a waiting job, and for one whose workers have failed lately. */
	mayEvict: boolean;
	now: number;
}

/**
 * Returns the workers that may be stopped, in this order: idle before busy, low before high, long before short.
 * `later`: ignores minimum stay and turns; sorted by the time at which each worker's turn ends.
 */
export function evictable<H extends Holder>(q: EvictionQuery<H>, { later = false } = {}): H[] {
	const { holders, endpoint, settingsOf, mayEvict, now } = q;
	if (!mayEvict) return [];
	const rankOf = (id: string): number => PRIORITIES.indexOf(settingsOf(id).priority);
	const rank = rankOf(endpoint);
	const rankOfHolder = ({ endpoint: id, busyLow = false }: H): number => (busyLow ? -1 : rankOf(id));
	const present = holders.filter(({ isReserved = false }) => !isReserved);
	const staying = present.filter(({ stopping }) => !stopping);
	// Where workers have no GPUs, they themselves are shared.
	const sizeOf = (gpus: number): number => Math.max(1, gpus);
	const gpusOf = (id: string, all: readonly H[]): number =>
		all.filter((holder) => holder.endpoint === id).reduce((sum, { gpus }) => sum + sizeOf(gpus.length), 0);
	const needed = sizeOf(q.needed);
	// With those that still end: an endpoint that gives up a GPU takes none meanwhile.
	const own = gpusOf(endpoint, present);

	function mayLeave(holder: H): boolean {
		const { endpoint: other, idleSince, readyAt } = holder;
		if (other === endpoint || (!later && now - (readyAt ?? now) < MIN_STAY_MS)) return false;
		if (idleSince !== undefined || rankOfHolder(holder) < rank) return true;
		const isFair = own === 0 || own + needed <= gpusOf(other, staying) - needed;
		return rankOf(other) === rank && isFair && (later || now >= turnEndsAt(holder));
	}

	function order(holder: H): number[] {
		const { idleSince, readyAt, startingSince } = holder;
		if (later) return [turnEndsAt(holder), startingSince];
		return [idleSince === undefined ? 1 : 0, rankOfHolder(holder), idleSince ?? readyAt ?? now];
	}
	const remaining = new Map(
		[...Map.groupBy(staying, (holder) => holder.endpoint)].map(([id, all]) => [id, all.length]),
	);
	return staying
		.filter(mayLeave)
		.toSorted((a, b) => compareKeys(order(a), order(b)))
		.filter((holder) => {
			const others = remaining.get(holder.endpoint)! - 1;
			// The minimum of a lower priority is no reservation against a higher one.
			if (rankOf(holder.endpoint) >= rank && others < settingsOf(holder.endpoint).workersMin) return false;
			remaining.set(holder.endpoint, others);
			return true;
		});
}

/** Infinity while it starts. Low-priority jobs have no turn. */
export function turnEndsAt({ readyAt = Infinity, startingSince, busyLow = false }: Holder): number {
	return readyAt + (busyLow ? MIN_STAY_MS : Math.max(TURN_MS, STARTS_PER_TURN * (readyAt - startingSince)));
}
