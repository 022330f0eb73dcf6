/** Pauses starts of workers after a crash or a failed start (D28, D29). */
import type { EpochMs } from "../../lib/time.ts";
import type { WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import type { EngineContext } from "../context.ts";
import type { StartProblems } from "../workers/start-problems.ts";
import type { Worker } from "../workers/worker-registry.ts";

/** First and longest pause; doubled each time. */
const PAUSE_MS = [1000, 60_000] as const;

/** Pause after a start that the platform did not answer, and the time without another after which that is over. */
const PROBE_MS = 2000;
const UNTRIED_MS = 15_000;

/** Time after a pause in which the next start may fail too, ms for each failure in a row. */
const LATELY_MS = 60_000;

export function crashBackoff({ now, events, problems }: EngineContext & { problems: StartProblems }) {
	const failures = new Map<string, { count: number; until: EpochMs; code?: WorkerReasonCode; unanswered?: true }>();
	const holds = (endpoint: string): boolean => (failures.get(endpoint)?.until ?? 0) > now();
	const hide = (endpoint: string): void =>
		problems.set(endpoint, { crashing: undefined, crashCode: undefined, retryAt: undefined });
	const hasFailedLately = (endpoint: string): boolean => {
		const { until = -Infinity, count = 0 } = failures.get(endpoint) ?? {};
		return now() < until + Math.max(1, count) * LATELY_MS;
	};
	const reset = (endpoint: string): void => {
		failures.delete(endpoint);
		hide(endpoint);
	};
	return {
		/** Crashes during a pause count as one with the crash that began it. */
		crashed(
			{ endpoint, launchedAs }: Pick<Worker, "endpoint" | "launchedAs">,
			code: WorkerReasonCode,
			reason: string,
		): void {
			problems.set(endpoint, { crashing: reason, crashCode: code });
			if (holds(endpoint)) return;
			const count = (failures.get(endpoint)?.count ?? 0) + 1;
			const retryMs = Math.min(PAUSE_MS[0] * 2 ** (count - 1), PAUSE_MS[1]);
			const retryAt = now() + retryMs;
			failures.set(endpoint, { count, until: retryAt, code });
			problems.set(endpoint, { retryAt });
			events.emit("worker.failed", { endpoint, reason, retryMs, launchedAs });
		},
		/** It is no crash: the next start probes the platform soon. */
		unanswered(endpoint: string, reason: string): void {
			const { count = 0, unanswered } = failures.get(endpoint) ?? {};
			const retryAt = now() + PROBE_MS;
			failures.set(endpoint, { count, until: retryAt, unanswered: true });
			problems.set(endpoint, { crashing: reason, crashCode: "start_failed", retryAt });
			if (!unanswered) events.emit("worker.failed", { endpoint, reason, retryMs: PROBE_MS });
		},
		answered(endpoint: string): void {
			const failure = failures.get(endpoint);
			if (!failure?.unanswered) return;
			delete failure.unanswered;
			hide(endpoint);
		},
		/** Earlier crashes are forgotten, except for the shortest pause. */
		worked(endpoint: string): void {
			const failure = failures.get(endpoint);
			if (!failure || (failure.unanswered && now() - failure.until < UNTRIED_MS)) return;
			// Such a worker does its jobs.
			if (failure.code === "gpu_memory_exceeded" && hasFailedLately(endpoint)) return;
			const until = Math.min(failure.until, now() + PAUSE_MS[0]);
			if (until <= now()) return reset(endpoint);
			failures.set(endpoint, { count: 0, until });
			hide(endpoint);
		},
		/** A worker has called: the problem is hidden, but crashes still count. */
		ready(endpoint: string): void {
			if (!failures.get(endpoint)?.unanswered) hide(endpoint);
		},
		reset,
		holds,
		/** Whether its last pause ended less than a minute ago for each failure in a row: its next start may fail too. */
		hasFailedLately,
		counts: (endpoint: string): boolean => failures.has(endpoint),
	};
}
