/**
 * Maps and sets of what comes and goes all the time, such as callers that wait.
 *
 * A `Map` makes itself a new table whenever deleted entries fill the old one, and V8 keeps a
 * pointer from each such table to the next. Once one of them is old, all that follow are kept until
 * the next full collection, with every entry they ever had: requests that were answered long ago,
 * here. So the whole map is replaced before that happens; nothing points from the one to the other.
 */

/**
 * So many entries may be added beyond as many as there are, before the map is replaced: its cost is
 * that of one more addition each.
 */
const ADDED_AT_MOST = 32;

/** A `Map` whose entries are short-lived. Whoever walks through it must not add to it meanwhile. */
export class RotatingMap<K, V> {
	#entries = new Map<K, V>();
	#left = ADDED_AT_MOST;

	get size(): number {
		return this.#entries.size;
	}

	has(key: K): boolean {
		return this.#entries.has(key);
	}

	get(key: K): V | undefined {
		return this.#entries.get(key);
	}

	set(key: K, value: V): this {
		this.#left -= 1;
		if (this.#left < 0) {
			this.#entries = new Map(this.#entries);
			this.#left = ADDED_AT_MOST + this.#entries.size;
		}
		this.#entries.set(key, value);
		return this;
	}

	delete(key: K): boolean {
		return this.#entries.delete(key);
	}

	keys(): MapIterator<K> {
		return this.#entries.keys();
	}

	values(): MapIterator<V> {
		return this.#entries.values();
	}

	[Symbol.iterator](): MapIterator<[K, V]> {
		return this.#entries.entries();
	}
}

/** A `Set` whose members are short-lived. Whoever walks through it must not add to it meanwhile. */
export class RotatingSet<T> {
	readonly #members = new RotatingMap<T, true>();

	get size(): number {
		return this.#members.size;
	}

	add(member: T): this {
		this.#members.set(member, true);
		return this;
	}

	delete(member: T): boolean {
		return this.#members.delete(member);
	}

	[Symbol.iterator](): MapIterator<T> {
		return this.#members.keys();
	}
}
