/**
 * Map and set for short-lived entries, such as waiting requests.
 *
 * When deleted entries fill a `Map`, it allocates a new table, and V8 links each table to the next. Once one is in the
 * old generation, all later tables and their entries survive until the next full collection. Replacing the map early
 * avoids the links.
 */

/** The map is replaced after this many additions plus its size: amortised O(1). */
const MIN_ADDITIONS = 32;

/** Do not add entries while iterating. */
export class RotatingMap<K, V> {
	#entries = new Map<K, V>();
	#left = MIN_ADDITIONS;

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
			this.#left = MIN_ADDITIONS + this.#entries.size;
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
