/**
 * A clock that a test moves: sleepers wake in due order, each finishing its work before
 * the next wakes.
 */
import type { Clock } from "../../src/kernel/system/clock.ts";
import { idle, isIdle } from "./work.ts";

/** A {@link Clock} with a hand to turn. */
export interface ManualClock extends Clock {
	/** Of both kinds: in tests the job clock is this one too. */
	now(): number;
	/**
	 * Moves time by `ms`, waking what is due on the way. Resolves when all they began without
	 * sleeping is done.
	 */
	advance(ms: number): Promise<void>;
	/**
	 * Moves time by `ms` at once: what is due on the way is late. For long times in which nothing
	 * happens that matters.
	 */
	leap(ms: number): Promise<void>;
	/** Sets the time of day by so much, or suspends the machine, which only moves that forward too. */
	set(ms: number): void;
}

interface Sleeper {
	at: number;
	wake: () => void;
}

/**
 * Turns of the event loop after which nothing is expected to be in progress that is not counted as
 * work.
 */
const QUIET_TURNS = 12;

/** Lets real input and output (the store's thread, sockets) go on between two wakings. */
async function settleWork(): Promise<void> {
	for (let quiet = 0; quiet < QUIET_TURNS; quiet = isIdle() ? quiet + 1 : 0) {
		await idle();
		await new Promise((resolve) => setImmediate(resolve));
	}
}

/** Starts at `start`, ms since the epoch. */
export function manualClock(start = 1_800_000_000_000): ManualClock {
	let present = start;
	let wallAhead = 0;
	const sleepers = new Set<Sleeper>();
	const clock: ManualClock = {
		now: () => present,
		wall: () => present + wallAhead,
		set: (ms) => void (wallAhead += ms),
		sleep: (ms, signal) =>
			new Promise((resolve) => {
				if (signal?.aborted) return resolve();
				const sleeper: Sleeper = { at: present + Math.max(0, ms), wake: done };
				function done(): void {
					sleepers.delete(sleeper);
					signal?.removeEventListener("abort", done);
					resolve();
				}
				sleepers.add(sleeper);
				signal?.addEventListener("abort", done, { once: true });
			}),
		async advance(ms) {
			const end = present + ms;
			await settleWork();
			for (;;) {
				let next: Sleeper | undefined;
				for (const sleeper of sleepers) if (sleeper.at <= end && (!next || sleeper.at < next.at)) next = sleeper;
				if (!next) break;
				present = Math.max(present, next.at);
				next.wake();
				await settleWork();
			}
			present = Math.max(present, end);
			await settleWork();
		},
		async leap(ms) {
			present += ms;
			await clock.advance(0);
		},
	};
	return clock;
}

/** Advances a clock step by step until the condition holds. A step of 0 only lets work go on. */
export async function advanceUntil(
	clock: { advance(ms: number): Promise<void> },
	holds: () => boolean | Promise<boolean>,
	stepMs: number,
): Promise<void> {
	while (!(await holds())) await clock.advance(stepMs);
}
