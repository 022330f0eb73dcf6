/** Orders work across connections that do not wait for each other. */

interface Barrier {
	/** Runs after earlier `first` work; all later work waits until it ends or fails. */
	first<T>(work: () => Promise<T>): Promise<T>;
	/** Runs after all {@link Barrier.first} work requested before. */
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
