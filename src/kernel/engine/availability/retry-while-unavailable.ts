/** Retries posts in an outage of the store: SDK workers discard a result after a few refusals (D40, protocol B.6). */
import type { Clock } from "../../system/clock.ts";
import type { EventBus } from "../../events.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";

const HOLD_MS = 120_000;

/** First and longest pause between retries; the end of the outage cuts them. */
const PAUSE_MS = [100, 2000] as const;

/** Bytes of all kept posts together; further ones are refused at once. */
export const MAX_HELD_BYTES = 256 * 1024 * 1024;

/** Connection, request and response of a post, without its body. */
const POST_BYTES = 16_384;

export interface RetryOptions {
	/** The store was unavailable meanwhile. */
	held: boolean;
	/** An earlier attempt may have been applied. */
	unsure: boolean;
}

export type RetryWhileUnavailable = <T>(
	operation: (attempt: RetryOptions) => Promise<T>,
	q?: { bytes?: number; signal?: AbortSignal | undefined },
) => Promise<T>;

export function retryWhileUnavailable({
	clock,
	events,
	waitUntilBack,
}: {
	clock: Clock;
	events: EventBus;
	waitUntilBack: (ms: number, signal?: AbortSignal) => Promise<void>;
}): RetryWhileUnavailable {
	let heldBytes = 0;
	let refusing = false;

	/** Announces once that there is no memory left, until all of it is free again. */
	function reserve(bytes: number): boolean {
		if (heldBytes + bytes <= MAX_HELD_BYTES) {
			heldBytes += bytes;
			return true;
		}
		if (!refusing) events.emit("posts.refused", { heldBytes });
		refusing = true;
		return false;
	}

	function free(bytes: number): void {
		heldBytes -= bytes;
		if (heldBytes === 0) refusing = false;
	}

	return async (operation, { bytes = 0, signal } = {}) => {
		const since = clock.now();
		const size = POST_BYTES + bytes;
		const attempt: RetryOptions = { held: false, unsure: false };
		try {
			for (let pause: number = PAUSE_MS[0]; ; pause = Math.min(pause * 2, PAUSE_MS[1])) {
				try {
					return await operation(attempt);
				} catch (error) {
					if (!(error instanceof StoreUnavailable) || error.why === "closed") throw error;
					if (signal?.aborted || clock.now() - since >= HOLD_MS) throw error;
					if (!attempt.held && !reserve(size)) throw error;
					attempt.held = true;
					attempt.unsure ||= error.unsure;
					await waitUntilBack(pause, signal);
				}
			}
		} finally {
			if (attempt.held) free(size);
		}
	};
}
