/**
 * Shares calls of `work`: one that comes while `work` runs waits for the next run, which sees all that was done before.
 */
export function grouped(work: () => Promise<void>): () => Promise<void> {
	let running: Promise<void> | undefined;
	let next: Promise<void> | undefined;

	function begin(): Promise<void> {
		next = undefined;
		const mine = work().finally(() => {
			if (running === mine) running = undefined;
		});
		running = mine;
		return mine;
	}

	return () => next ?? (running ? (next = running.then(begin, begin)) : begin());
}
