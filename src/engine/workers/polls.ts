/** An open poll of a worker: for jobs, or for jobs to stop. */
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import { pollBegun } from "./liveness.ts";
import type { Worker } from "./worker-registry.ts";

/**
 * How long an empty poll is held, ms: less than the 90 s after which workers hang up, long enough
 * for few requests a minute (D26).
 */
export const POLL_HOLD_MS = 50_000;

/** Reason for cutting a poll's timer: without one an exception object would be created each time. */
const ENDED = "ended";

/** Resolves when the poll must end: the time is over, the worker hung up, or polls are ended. */
export function holdPoll(
	clock: Clock,
	worker: Worker,
	signal: AbortSignal,
): { ended: Promise<void>; done: () => void } {
	const end = new AbortController();
	const leave = (): void => end.abort(ENDED);
	worker.polls.add(leave);
	signal.addEventListener("abort", leave, { once: true });
	if (signal.aborted) leave();
	const ended = clock.sleep(POLL_HOLD_MS, end.signal);
	return {
		ended,
		done() {
			worker.polls.delete(leave);
			signal.removeEventListener("abort", leave);
			leave();
		},
	};
}

/** Counts an open poll of the worker in `kind`, until the returned function is called. */
export function countPoll(
	worker: Worker,
	kind: "takes" | "stops",
	{ now, signal }: { now: () => EpochMs; signal: AbortSignal },
): () => void {
	worker[kind] += 1;
	const over = pollBegun(worker, now);
	return () => {
		worker[kind] -= 1;
		worker.pollEndedAt = now();
		over(signal.aborted);
	};
}
