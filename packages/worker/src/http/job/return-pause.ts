/**
 * A pause after a return without a loss. The service gives the job out at once, and this worker may be the only one, so
 * that it would be taken and returned in a circle.
 */
import type { Clock } from "../../clock.ts";
import { JobReturn } from "../../job-return.ts";
import type { Handler } from "../../types.ts";

/** Time in which no job is taken, ms. */
const PAUSE_MS = 1000;

export interface ReturnPause {
	/** The handler, whose returns begin a pause. */
	handler: Handler;
	readonly isOver: boolean;
}

export function pauseAfterReturns(handler: Handler, clock: Clock): ReturnPause {
	let until = -Infinity;
	return {
		async handler(job, context) {
			try {
				return await handler(job, context);
			} catch (error) {
				if (error instanceof JobReturn && !error.loss) until = clock.now() + PAUSE_MS;
				throw error;
			}
		},
		get isOver() {
			return clock.now() >= until;
		},
	};
}
