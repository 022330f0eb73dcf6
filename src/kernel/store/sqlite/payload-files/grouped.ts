/** Shares calls of `work`: a call during a run waits for the next run, which sees everything done before it. */
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
