/**
 * Simulated time: events in the order of their times, all in one thread. What an event begins runs
 * to its end before the next one, so a schedule is a function of its seed.
 */
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import type { Time } from "../torture/time.ts";

/** Runs the callbacks of settled promises. Does nothing when called by one of them. */
const runMicrotasks = ((): (() => void) => {
	setFlagsFromString("--allow-natives-syntax");
	return runInThisContext("() => %PerformMicrotaskCheckpoint()") as () => void;
})();

export interface Event {
	at: number;
	serial: number;
	/** Undefined once it was cancelled. */
	run: (() => void) | undefined;
}

/** Of a schedule: more are an endless loop. */
const MOST_EVENTS = 50_000;

/** Epoch of simulated time, ms. */
const START = 1_800_000_000_000;

export class World {
	now = START;
	/** How far the time of day is ahead. */
	wallAhead = 0;
	events = 0;
	private serial = 0;
	/** A heap: each event is not later than those at 2n + 1 and 2n + 2. */
	private readonly heap: Event[] = [];

	readonly time: Time = { now: () => this.now, sleep: (ms, signal) => this.sleep(ms, signal) };

	after(ms: number, run: () => void): Event {
		const event = { at: this.now + Math.max(0, ms), serial: (this.serial += 1), run };
		this.push(event);
		return event;
	}

	sleep(ms: number, signal?: AbortSignal): Promise<void> {
		return sleepOn((delay, run) => this.after(delay, run), ms, signal);
	}

	/** Runs events until `done`; false when there are none left, too many, or after `ms`. */
	run(done: () => boolean, ms: number): boolean {
		const end = this.now + ms;
		runMicrotasks();
		while (!done()) {
			const event = this.pop();
			if (!event || event.at > end || this.events > MOST_EVENTS) return false;
			if (!event.run) continue;
			this.now = Math.max(this.now, event.at);
			this.events += 1;
			event.run();
			runMicrotasks();
		}
		return true;
	}

	private push(event: Event): void {
		const { heap } = this;
		let at = heap.length;
		heap.push(event);
		while (at > 0) {
			const above = (at - 1) >> 1;
			if (!isBefore(event, heap[above]!)) break;
			heap[at] = heap[above]!;
			at = above;
		}
		heap[at] = event;
	}

	private pop(): Event | undefined {
		const { heap } = this;
		const first = heap[0];
		const last = heap.pop();
		if (!first || !last || first === last) return first;
		let at = 0;
		for (;;) {
			let below = 2 * at + 1;
			if (below >= heap.length) break;
			if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
			if (!isBefore(heap[below]!, last)) break;
			heap[at] = heap[below]!;
			at = below;
		}
		heap[at] = last;
		return first;
	}
}

function isBefore(a: Event, b: Event): boolean {
	return a.at < b.at || (a.at === b.at && a.serial < b.serial);
}

/** Node's longest timer, and its shortest, ms. */
const [LONGEST, SHORTEST] = [2 ** 31 - 1, 1];

/** Resolves after `ms`, or when the signal aborts. */
export function sleepOn(
	after: (ms: number, run: () => void) => Event,
	ms: number,
	signal?: AbortSignal,
): Promise<void> {
	return new Promise((resolve) => {
		if (signal?.aborted) return resolve();
		const done = (): void => {
			event.run = undefined;
			signal?.removeEventListener("abort", done);
			resolve();
		};
		const event = after(Math.min(Math.max(ms, SHORTEST), LONGEST), done);
		signal?.addEventListener("abort", done, { once: true });
	});
}
