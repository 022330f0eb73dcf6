/**
 * Work that must be done before whatever is asked after it, though connections do not wait for each
 * other.
 */

/** An order of calls. */
export interface Barrier {
	/** Runs at once; whatever comes later waits for its end, also when it fails. */
	first<T>(work: () => Promise<T>): Promise<T>;
	/** Runs after all {@link Barrier.first} work that was asked for before. */
	after<T>(work: () => Promise<T>): Promise<T>;
}

export function openBarrier(): Barrier {
	let ahead: Promise<unknown> | undefined;

	async function after<T>(work: () => Promise<T>): Promise<T> {
		if (ahead) await ahead;
		return await work();
	}

	return {
		after,
		first(work) {
			const done = after(work);
			const mine = done.then(end, end);
			function end(): void {
				if (ahead === mine) ahead = undefined;
			}
			ahead = mine;
			return done;
		},
	};
}
