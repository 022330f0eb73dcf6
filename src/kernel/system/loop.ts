import type { Clock } from "./clock.ts";

/** Calls are idempotent; `stop` waits for the step in progress. */
export interface Service {
	start(): void;
	stop(): Promise<void>;
}

export interface Loop extends Service {
	/** Runs the step now, or again right after the one in progress. */
	nudge(): void;
}

/** Repeats `step`, never concurrently. */
export function loop({
	clock,
	step,
	retryMs,
	onError,
}: {
	clock: Clock;
	/** Returns the wait until the next step, ms. */
	step: () => Promise<number>;
	/** Ms. */
	retryMs: number;
	onError: (error: unknown) => void;
}): Loop {
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

export type BackgroundTasks = ReturnType<typeof backgroundTasks>;

/** Work that no caller waits for, but that a stop waits for. */
export function backgroundTasks(onError: (name: string, error: unknown) => void) {
	const running = new Set<Promise<unknown>>();
	const stopped = new AbortController();
	return {
		run(name: string, work: Promise<unknown>): void {
			const task = work.catch((error: unknown) => onError(name, error)).finally(() => running.delete(task));
			running.add(task);
		},
		stopped: stopped.signal,
		async stop(): Promise<void> {
			stopped.abort();
			await Promise.all(running);
		},
	};
}
