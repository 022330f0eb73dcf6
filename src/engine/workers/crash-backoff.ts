/**
 * Crash loops: how long no worker is started after one that ended before it worked, and why (D28,
 * D29).
 */
import type { EventBus } from "../../events.ts";

/** First and longest pause, ms; doubled each time. */
const PAUSE_MS = [1000, 60_000] as const;

/** Pauses of endpoints. */
export interface CrashBackoff {
	/**
	 * A worker of the endpoint crashed or could not be started, for this reason. Those that do so
	 * during a pause count as one with what began it.
	 */
	crashed(endpoint: string, reason: string): void;
	/** A worker of the endpoint is sound. */
	sound(endpoint: string): void;
	/** Whether no worker is to be started there now. */
	holds(endpoint: string): boolean;
	/** The reason of the last crash, until a worker is sound. */
	reason(endpoint: string): string | undefined;
}

export function crashBackoff(d: { now: () => number; events: EventBus }): CrashBackoff {
	const crashes = new Map<string, { count: number; until: number; reason: string }>();
	const holds = (endpoint: string): boolean => (crashes.get(endpoint)?.until ?? 0) > d.now();
	return {
		crashed(endpoint, reason) {
			const last = crashes.get(endpoint);
			if (last && holds(endpoint)) {
				last.reason = reason;
				return;
			}
			const count = (last?.count ?? 0) + 1;
			const retryMs = Math.min(PAUSE_MS[0] * 2 ** (count - 1), PAUSE_MS[1]);
			crashes.set(endpoint, { count, until: d.now() + retryMs, reason });
			d.events.emit("worker.failed", { endpoint, reason, retryMs });
		},
		sound: (endpoint) => void crashes.delete(endpoint),
		holds,
		reason: (endpoint) => crashes.get(endpoint)?.reason,
	};
}
