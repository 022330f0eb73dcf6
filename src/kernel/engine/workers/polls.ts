import type { Clock } from "../../system/clock.ts";
import type { EpochMs } from "../../lib/time.ts";
import { pollBegun } from "./liveness.ts";
import type { Worker } from "./worker-registry.ts";

/** Less than the 90 s after which workers hang up, long enough for few requests a minute (D26). */
const POLL_HOLD_MS = 50_000;

/** An abort without a reason creates an exception object each time. */
export const ENDED = "ended";

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

/** Counts an open poll until the returned function is called. */
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
