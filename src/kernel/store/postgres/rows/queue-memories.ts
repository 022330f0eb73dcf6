/**
 * What a server remembers of queues between transactions: claims and deadlines then read little. Nothing here decides
 * what a job does.
 *
 * Entries of claimed jobs stay in the index until vacuum removes them, possibly for hours. A claim that begins at the
 * first rank passes all of them, which halves the rate after a million finished jobs. It begins at the rank up to which
 * this server's claims have found every job (`claimedTo`). What that misses, a search finds:
 * - A job of a lower rank, whose lock by another server's claim was rolled back or whose insert was committed late: a
 *   search from {@link BACK_MS} before the rank, every {@link SEARCH_MS} while jobs wait, and at once by a claim that
 *   is not filled otherwise.
 * - A job of a still lower rank, after a longer transaction: a search of the whole queue every {@link SEARCH_ALL_MS}.
 * - A job that returned to the front, at a rank below 0: the front is part of each search, and while jobs wait there,
 *   every claim is a search.
 * - Jobs that the counts do not show: a search every {@link TRUST_COUNTS_MS}.
 *
 * A transaction that fails forgets its queues. A clock that goes back makes every search due.
 */

const PER_MS = 2048;

export function earlier(rank: number, ms: number): number {
	return rank - ms * PER_MS;
}

/**
 * Ranks grow with time and, within a ms, in the order of this server. Jobs submitted to different servers at the same
 * moment have no defined order.
 */
export class RankAllocator {
	#back = 0;
	#front = 0;

	/** Returns a rank above all given before and above `after`. `now`: ms since the epoch. */
	back(now: number, after = 0): number {
		return (this.#back = Math.max(this.#back + 1, now * PER_MS, after + 1));
	}

	/** Returns a rank below all given before, and below 0. */
	front(now: number): number {
		return (this.#front = Math.min(this.#front - 1, -now * PER_MS));
	}
}

/** Time between two searches while jobs wait, ms; and between two that do not trust the counts. */
const SEARCH_MS = 1000;
const TRUST_COUNTS_MS = 10_000;

/** A search begins this long before the remembered rank, and at the first rank this often, ms. */
const BACK_MS = 30_000;
const SEARCH_ALL_MS = 60_000;

/** Margin for long transactions and clock differences between servers, ms. */
const MARGIN_MS = 2000;

const MOST_REMEMBERED = 10_000;

/** Times are those of queries, ms since the epoch. */
export class QueueMemory {
	#settledTo = Number.MIN_SAFE_INTEGER;
	/** All waiting jobs of normal priority up to this rank were claimed, except those locked by others. */
	#claimedTo = 0;
	/** When the front and the ranks shortly before `claimedTo` were searched, and when the whole queue. */
	#searchedAt = -Infinity;
	#searchedAllAt = -Infinity;
	epoch = 0;
	purgedTo = 0;
	waiting = 0;

	dueAfter(now: number): number {
		if (now < this.#settledTo) this.#settledTo = Number.MIN_SAFE_INTEGER;
		return this.#settledTo === Number.MIN_SAFE_INTEGER ? this.#settledTo : this.#settledTo - MARGIN_MS;
	}

	/** No live job is due up to `now`. Returns what takes that back if the transaction fails. */
	settled(now: number): () => void {
		const before = this.#settledTo;
		this.#settledTo = Math.max(before, now);
		return () => (this.#settledTo = before);
	}

	isSearched(now: number): boolean {
		return now >= this.#searchedAt && now - this.#searchedAt < SEARCH_MS;
	}

	trustsCounts(now: number): boolean {
		return now >= this.#searchedAt && now - this.#searchedAt < TRUST_COUNTS_MS;
	}

	start(purgedTo = this.purgedTo): number {
		return Math.max(this.#claimedTo, purgedTo);
	}

	searchStart(now: number, purgedTo: number): number {
		return this.#isAllDue(now) ? purgedTo : Math.max(purgedTo, earlier(this.#claimedTo, BACK_MS));
	}

	claimed(to: number): void {
		this.#claimedTo = Math.max(this.#claimedTo, to);
	}

	/** A search that began after the rank `from` found every job up to `to`. */
	searched({ from, to, now }: { from: number; to: number; now: number }, isFrontEmpty: boolean): void {
		if (this.#isAllDue(now)) this.#searchedAllAt = now;
		this.#claimedTo = to > from ? to : Math.max(from, this.#claimedTo);
		this.#searchedAt = isFrontEmpty ? now : -Infinity;
	}

	searchAgain(): void {
		this.#searchedAt = -Infinity;
	}

	#isAllDue(now: number): boolean {
		return now < this.#searchedAllAt || now - this.#searchedAllAt >= SEARCH_ALL_MS;
	}
}

export class QueueMemories {
	readonly #byEndpoint = new Map<string, QueueMemory>();

	of(endpoint: string): QueueMemory {
		let memory = this.#byEndpoint.get(endpoint);
		if (!memory) {
			if (this.#byEndpoint.size >= MOST_REMEMBERED) this.#byEndpoint.clear();
			this.#byEndpoint.set(endpoint, (memory = new QueueMemory()));
		}
		return memory;
	}

	forget(endpoint: string): void {
		this.#byEndpoint.delete(endpoint);
	}
}
