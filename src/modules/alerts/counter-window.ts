/** Measures how much counters have grown within a time, ms. It is kept in memory, in twenty steps. */
export class CounterWindow {
	readonly #ms: number;
	readonly #samples = new Map<string, [at: number, value: number][]>();
	/** A counter that appears later began at 0. */
	#first = true;

	constructor(ms: number) {
		this.#ms = ms;
	}

	/** Adds the present values and returns the growth of each counter. Counters that are left out are forgotten. */
	grown(values: Iterable<readonly [name: string, value: number]>, now: number): Map<string, number> {
		const grown = new Map<string, number>();
		const step = this.#ms / 20;
		for (const [name, value] of values) {
			const samples = this.#samples.get(name) ?? [this.#first ? [now, value] : [now - step, 0]];
			// The counter started again at 0, as after a restart.
			if (value < samples[0]![1]) samples.splice(0, samples.length, [now - step, 0]);
			if (now - samples.at(-1)![0] >= step) samples.push([now, value]);
			while (samples.length > 1 && samples[1]![0] <= now - this.#ms) samples.shift();
			this.#samples.set(name, samples);
			grown.set(name, value - samples[0]![1]);
		}
		for (const name of this.#samples.keys()) if (!grown.has(name)) this.#samples.delete(name);
		this.#first = false;
		return grown;
	}
}
