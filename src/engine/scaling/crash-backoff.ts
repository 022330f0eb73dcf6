/** How long no worker of an endpoint is started after a crash or a failed start (D28, D29). */
import type { EpochMs } from "../../core/time.ts";
import type { WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import type { EventBus } from "../../events.ts";
import type { StartProblems } from "../workers/start-problems.ts";

/** First and longest pause, ms; doubled each time. */
const PAUSE_MS = [1000, 60_000] as const;

/** Pause after a start that the platform did not answer; time without one after which that is over, ms. */
const PROBE_MS = 2000;
const UNTRIED_MS = 15_000;

export interface CrashBackoff {
	/**
	 * A worker crashed or could not be started. Crashes during a pause count as one with the crash that
	 * began it.
	 */
	crashed(endpoint: string, code: WorkerReasonCode, reason: string): void;
	/** The platform did not answer a start. It is no crash: the next start probes it soon. */
	unanswered(endpoint: string, reason: string): void;
	/** The platform has started a worker. */
	answered(endpoint: string): void;
	/** A worker of the endpoint works: crashes before are forgotten, but for the shortest pause. */
	worked(endpoint: string): void;
	/** A worker has called: nothing is wrong that can be seen now; crashes still count. */
	ready(endpoint: string): void;
	/** The count begins again, without a pause. */
	reset(endpoint: string): void;
	/** Whether no worker is to be started there now. */
	holds(endpoint: string): boolean;
	/** Whether starts failed that are not forgotten. */
	counts(endpoint: string): boolean;
}

export function crashBackoff(d: { now: () => EpochMs; events: EventBus; problems: StartProblems }): CrashBackoff {
	const failures = new Map<string, { count: number; until: EpochMs; unanswered?: true }>();
	const holds = (endpoint: string): boolean => (failures.get(endpoint)?.until ?? 0) > d.now();
	const hide = (endpoint: string): void =>
		d.problems.set(endpoint, { crashing: undefined, crashCode: undefined, retryAt: undefined });
	const reset = (endpoint: string): void => {
		failures.delete(endpoint);
		hide(endpoint);
	};
	return {
		crashed(endpoint, code, reason) {
			d.problems.set(endpoint, { crashing: reason, crashCode: code });
			if (holds(endpoint)) return;
			const count = (failures.get(endpoint)?.count ?? 0) + 1;
			const retryMs = Math.min(PAUSE_MS[0] * 2 ** (count - 1), PAUSE_MS[1]);
			const retryAt = d.now() + retryMs;
			failures.set(endpoint, { count, until: retryAt });
			d.problems.set(endpoint, { retryAt });
			d.events.emit("worker.failed", { endpoint, reason, retryMs });
		},
		unanswered(endpoint, reason) {
			const { count = 0, unanswered } = failures.get(endpoint) ?? {};
			const retryAt = d.now() + PROBE_MS;
			failures.set(endpoint, { count, until: retryAt, unanswered: true });
			d.problems.set(endpoint, { crashing: reason, crashCode: "start_failed", retryAt });
			if (!unanswered) d.events.emit("worker.failed", { endpoint, reason, retryMs: PROBE_MS });
		},
		answered(endpoint) {
			const failure = failures.get(endpoint);
			if (!failure?.unanswered) return;
			delete failure.unanswered;
			hide(endpoint);
		},
		worked(endpoint) {
			const failure = failures.get(endpoint);
			if (!failure || (failure.unanswered && d.now() - failure.until < UNTRIED_MS)) return;
			const until = Math.min(failure.until, d.now() + PAUSE_MS[0]);
			if (until <= d.now()) return reset(endpoint);
			failures.set(endpoint, { count: 0, until });
			hide(endpoint);
		},
		ready(endpoint) {
			if (!failures.get(endpoint)?.unanswered) hide(endpoint);
		},
		reset,
		holds,
		counts: (endpoint) => failures.has(endpoint),
	};
}
