/**
 * The one shape of everything that runs until it is stopped, and the one helper for periodic work.
 */
import type { Clock } from "./clock.ts";

/** Something with a lifetime. Both calls may be repeated; `stop` waits for the step in hand. */
export interface Service {
	start(): void;
	stop(): Promise<void>;
}

/** A periodic service whose wait can be cut short. */
export interface Loop extends Service {
	/** Runs the step soon: now if idle, again at once if a step is under way. */
	nudge(): void;
}

/** What {@link loop} needs. `step` returns how long to wait until the next one, in ms. */
export interface LoopOptions {
	clock: Clock;
	step: () => Promise<number>;
	/** Wait after a step that threw, in ms. */
	retryMs: number;
	onError: (error: unknown) => void;
}

/** Calls `step` again and again, never two at once, waiting as long as each step asks. */
export function loop({ clock, step, retryMs, onError }: LoopOptions): Loop {
	let running: Promise<void> | undefined;
	let stopping = false;
	let nudged = false;
	let wake = new AbortController();

	async function run(): Promise<void> {
		while (!stopping) {
			nudged = false;
			let wait: number;
			try {
				wait = await step();
			} catch (error) {
				onError(error);
				wait = retryMs;
			}
			if (stopping || nudged) continue;
			wake = new AbortController();
			await clock.sleep(wait, wake.signal);
		}
	}

	return {
		start() {
			if (running) return;
			stopping = false;
			running = run();
		},
		nudge() {
			nudged = true;
			wake.abort();
		},
		async stop() {
			stopping = true;
			wake.abort();
			await running;
			running = undefined;
		},
	};
}
