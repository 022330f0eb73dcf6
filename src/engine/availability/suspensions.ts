/** How long this machine was suspended: what its time since the start is ahead of the monotonic clock. */
import type { Clock } from "../../clock.ts";

/** Less is the resolution of the clocks, ms. */
const SHORTEST_MS = 100;

export interface Suspensions {
	/** Since the last call, ms. 0 where the monotonic clock counts suspensions or nothing is known. */
	take(): number;
}

export function suspensions(clock: Clock): Suspensions {
	const ahead = (): number => (clock.boot?.().ms ?? 0) - (clock.boot ? clock.now() : 0);
	let last = ahead();
	return {
		take() {
			const ms = ahead() - last;
			if (ms < SHORTEST_MS) return 0;
			last += ms;
			return ms;
		},
	};
}
