/**
 * Worker posts while the store is away: held and tried again, because an SDK worker loses a result
 * after a few refusals (D40, protocol B.6).
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { StoreUnavailable } from "../../store/store.ts";

/** How long a post is held before the worker is told to come again, ms. */
const HOLD_MS = 120_000;

/** First and longest pause between tries, ms; all are tried again as soon as the store is back. */
const PAUSE_MS = [100, 2000] as const;

/** Most bytes held at once, those of all posts together; further ones are refused at once. */
export const MOST_HELD_BYTES = 256 * 1024 * 1024;

/** What a post takes besides its body: its connection, request and answer, bytes. */
const POST_BYTES = 16_384;

/** What is known of a step that is not done for the first time. */
export interface RetryOptions {
	/** It was held: the store was away since. */
	held: boolean;
	/** An earlier try may have been done. */
	unsure: boolean;
}

/**
 * Runs a store step again and again while the store is away. `bytes`: what is kept in memory for it
 * meanwhile.
 */
export type RetryWhileUnavailable = <T>(
	step: (again: RetryOptions) => Promise<T>,
	q?: { bytes?: number; signal?: AbortSignal | undefined },
) => Promise<T>;

/** Holds work while the store is away. `back` resolves when it is there again, or after a time. */
export function retryWhileUnavailable({
	clock,
	events,
	back,
}: {
	clock: Clock;
	events: EventBus;
	back: (ms: number, signal?: AbortSignal) => Promise<void>;
}): RetryWhileUnavailable {
	let heldBytes = 0;
	let full = false;

	/** Room for one more; told once that there is none, until all are gone. */
	function take(bytes: number): boolean {
		if (heldBytes + bytes <= MOST_HELD_BYTES) {
			heldBytes += bytes;
			return true;
		}
		if (!full) events.emit("posts.refused", { heldBytes });
		full = true;
		return false;
	}

	function give(bytes: number): void {
		heldBytes -= bytes;
		if (heldBytes === 0) full = false;
	}

	return async (step, { bytes = 0, signal } = {}) => {
		const since = clock.now();
		const needed = POST_BYTES + bytes;
		const again: RetryOptions = { held: false, unsure: false };
		try {
			for (let pause: number = PAUSE_MS[0]; ; pause = Math.min(pause * 2, PAUSE_MS[1])) {
				try {
					return await step(again);
				} catch (error) {
					if (!(error instanceof StoreUnavailable) || error.why === "closed") throw error;
					if (signal?.aborted || clock.now() - since >= HOLD_MS) throw error;
					if (!again.held && !take(needed)) throw error;
					again.held = true;
					again.unsure ||= error.unsure;
					await back(pause, signal);
				}
			}
		} finally {
			if (again.held) give(needed);
		}
	};
}
