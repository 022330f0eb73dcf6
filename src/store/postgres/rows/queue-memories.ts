/**
 * What a server remembers of queues between transactions, so that claims and deadlines read little.
 *
 * A claim takes the waiting jobs of lowest rank. Claimed jobs leave the index, but their entries stay in
 * it until vacuum removes them, which may be hours later while a long transaction runs elsewhere. A claim
 * that begins at the first rank passes all of them: after a million finished jobs that vacuum had not
 * seen, four times the pages and half the rate. So a server remembers the rank up to which its claims
 * have found every job (`claimedTo`), and begins there. With one server that is nearly always right.
 * What it misses, and what finds it:
 *
 * - A job of a lower rank that was locked by another server's claim which was rolled back, or that
 *   another server inserted with an earlier time and committed later: a search from {@link BACK_MS}
 *   before the remembered rank, every {@link SEARCH_MS} while jobs wait, and at once by a claim that is
 *   not filled otherwise.
 * - A job of a still lower rank, such as one of a server whose transaction took longer: the whole queue
 *   is searched every {@link SEARCH_ALL_MS}. Every second would read a fifth more pages for each job.
 * - A job that returned to the front, at a rank below 0: the front is part of each search, and this
 *   server's own returns make the next claim a search. While jobs wait at the front, every claim is one.
 * - Jobs that the counts do not show: where they say that nothing waits, only jobs of the claim's own
 *   transaction are offered, but after {@link TRUST_COUNTS_MS} a search is made all the same.
 *
 * A transaction that fails forgets its queues, and so does a full memory: then the next claim searches
 * everything. A clock that goes back makes every search due. Nothing here decides what a job does.
 */
import { earlier } from "./rank-allocator.ts";

/** Time between two searches while jobs wait, ms; and between two that do not trust the counts. */
const SEARCH_MS = 1000;
const TRUST_COUNTS_MS = 10_000;

/** A search begins this long before the remembered rank, and at the first rank this often, ms. */
const BACK_MS = 30_000;
const SEARCH_ALL_MS = 60_000;

/** Margin for long transactions and clock differences between servers, ms. */
const MARGIN_MS = 2000;

const MOST_REMEMBERED = 10_000;

/** The memory of one queue. Times are those of queries, ms since the epoch. */
export class QueueMemory {
	/** All live jobs due up to this time are settled. */
	#settledTo = Number.MIN_SAFE_INTEGER;
	/** All waiting jobs of normal priority up to this rank were claimed, except those locked by others. */
	#claimedTo = 0;
	/** When the front and the ranks shortly before `claimedTo` were last searched, and when the whole queue. */
	#searchedAt = -Infinity;
	#searchedAllAt = -Infinity;
	/** State as of the last transaction: epoch, highest purged rank, number of waiting jobs. */
	epoch = 0;
	purgedTo = 0;
	waiting = 0;

	/** Returns the time from which live jobs may be due. */
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

	/** Whether a claim may begin at the remembered rank. */
	isSearched(now: number): boolean {
		return now >= this.#searchedAt && now - this.#searchedAt < SEARCH_MS;
	}

	trustsCounts(now: number): boolean {
		return now >= this.#searchedAt && now - this.#searchedAt < TRUST_COUNTS_MS;
	}

	/** Returns the rank after which a claim begins. */
	start(purgedTo = this.purgedTo): number {
		return Math.max(this.#claimedTo, purgedTo);
	}

	/** Returns the rank after which a search begins. */
	searchStart(now: number, purgedTo: number): number {
		return this.#isAllDue(now) ? purgedTo : Math.max(purgedTo, earlier(this.#claimedTo, BACK_MS));
	}

	/** A claim found every job up to a rank. */
	claimed(to: number): void {
		this.#claimedTo = Math.max(this.#claimedTo, to);
	}

	/** A search that began after the rank `from` found every job up to `to`; a lower rank is not kept after it. */
	searched({ from, to, now }: { from: number; to: number; now: number }, isFrontEmpty: boolean): void {
		if (this.#isAllDue(now)) this.#searchedAllAt = now;
		this.#claimedTo = to > from ? to : Math.max(from, this.#claimedTo);
		this.#searchedAt = isFrontEmpty ? now : -Infinity;
	}

	/** A job has joined the front. */
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
