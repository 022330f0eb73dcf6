/** Runs a generator and lets other requests run after each step. */
export async function inSlices<T>(steps: Generator<unknown, T>): Promise<T> {
	let step = steps.next();
	for (; !step.done; step = steps.next()) await new Promise((resolve) => setImmediate(resolve));
	return step.value;
}
