/** Orders work across connections that do not wait for each other. */

export function openBarrier() {
	let ahead: Promise<unknown> | undefined;

	async function after<T>(work: () => Promise<T>): Promise<T> {
		if (ahead) await ahead;
		return await work();
	}

	return {
		after,
		/** Runs `work` after earlier calls of `first`; all later work waits until it ends or fails. */
		first<T>(work: () => Promise<T>): Promise<T> {
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
