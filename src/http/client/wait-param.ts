/** `?wait=`: how long a call may be held (D7, D8). */
import type { Call } from "../call.ts";
import { valueOf } from "../params.ts";
import type { Param } from "../params.ts";

/** Bounds, ms; numbers outside are brought to the nearest. */
const [SHORTEST, LONGEST] = [1000, 300_000] as const;

/** Default of `/runsync` and `/status-sync`, ms. */
export const SYNC_WAIT_MS = 90_000;

/** Default of `/stream`, ms: the Python SDK gives up after 10 s. */
export const STREAM_WAIT_MS = 5_000;

/** The parameter with a default, ms. */
function wait(otherwise: number): Param<number> & { otherwise: number } {
	return {
		name: "wait",
		description: `How long the call may be held, ms. A number outside ${SHORTEST} to ${LONGEST} is brought to the nearest.`,
		bound: `a number of ms from ${SHORTEST} to ${LONGEST}`,
		schema: { type: "number", default: otherwise },
		otherwise,
		read: (text) =>
			/^-?\d+(\.\d+)?$/.test(text)
				? Math.min(LONGEST, Math.max(SHORTEST, Math.round(Number(text))))
				: undefined,
	};
}

export const SYNC_WAIT = wait(SYNC_WAIT_MS);
export const STREAM_WAIT = wait(STREAM_WAIT_MS);

/** The wait asked for, or the default; anything but a number is 400. */
export function waitMs(call: Call, param: typeof SYNC_WAIT): number {
	return valueOf(call, param) ?? param.otherwise;
}
