/** How long no worker of an endpoint is started after a crash or a failed start (D28, D29). */
import type { EpochMs } from "../../core/time.ts";
import type { WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import type { EventBus } from "../../events.ts";
import type { StartProblems } from "../workers/start-problems.ts";

/** First and longest pause, ms; doubled each time. */
const PAUSE_MS = [1000, 60_000] as const;

export interface CrashBackoff {
	/**
	 * A worker crashed or could not be started. Crashes during a pause count as one with the crash that
	 * began it.
	 */
	crashed(endpoint: string, code: WorkerReasonCode, reason: string): void;
	/** A worker of the endpoint works: the count begins again. */
	reset(endpoint: string): void;
	/** Whether no worker is to be started there now. */
	holds(endpoint: string): boolean;
}

export function crashBackoff(d: { now: () => EpochMs; events: EventBus; problems: StartProblems }): CrashBackoff {
	const crashes = new Map<string, { count: number; until: EpochMs }>();
	const holds = (endpoint: string): boolean => (crashes.get(endpoint)?.until ?? 0) > d.now();
	return {
		crashed(endpoint, code, reason) {
			d.problems.set(endpoint, { crashing: reason, crashCode: code });
			if (holds(endpoint)) return;
			const count = (crashes.get(endpoint)?.count ?? 0) + 1;
			const retryMs = Math.min(PAUSE_MS[0] * 2 ** (count - 1), PAUSE_MS[1]);
			const retryAt = d.now() + retryMs;
			crashes.set(endpoint, { count, until: retryAt });
			d.problems.set(endpoint, { retryAt });
			d.events.emit("worker.failed", { endpoint, reason, retryMs });
		},
		reset(endpoint) {
			crashes.delete(endpoint);
			d.problems.set(endpoint, { crashing: undefined, crashCode: undefined, retryAt: undefined });
		},
		holds,
	};
}
