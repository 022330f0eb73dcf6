/**
 * Takes tasks and runs at most `most` of them at once, in their order. A task that fails rejects the promise of one
 * that was given, and takes no place from the others.
 */
export function fewAtOnce(most: number): (task: () => Promise<void>) => Promise<void> {
	const queue: (() => Promise<void>)[] = [];
	let running = 0;

	async function work(): Promise<void> {
		if (running >= most) return;
		running += 1;
		try {
			for (let next = queue.shift(); next; next = queue.shift()) await next();
		} finally {
			running -= 1;
			if (queue.length > 0) void work();
		}
	}

	return async (task) => {
		queue.push(task);
		await work();
	};
}
