/** The result of a generator that yields after each slice: other requests run between them. */
export async function inSlices<T>(steps: Generator<unknown, T>): Promise<T> {
	let step = steps.next();
	for (; !step.done; step = steps.next()) await new Promise((resolve) => setImmediate(resolve));
	return step.value;
}
