/**
 * Whether the main process of a worker lives, where its pings do not tell: SDK workers ping from a
 * child process, which may go on for a dead parent and name its jobs for ever (D16). What tells is
 * a poll that the worker cuts and does not begin again. Proxies cut polls too, always at the same
 * age, and a handler that blocks cannot begin one anew: so a cut counts only at an age that polls
 * of this worker have outlived before. What this does not find out ends with the execution timeout.
 */
import type { Worker } from "./worker-registry.ts";

/** Ping intervals without a poll after which the main process is held for dead. */
const INTERVALS = 2;

/**
 * A poll of the worker begins; the answer is to be called at its end with whether the worker cut
 * it.
 */
export function pollBegun(worker: Worker, now: () => number): (cut: boolean) => void {
	const began = now();
	worker.leftAt = undefined;
	return (cut) => {
		const heldMs = now() - began;
		if (!cut) worker.longestPollMs = Math.max(worker.longestPollMs, heldMs);
		else if (heldMs <= worker.longestPollMs) worker.leftAt = now();
	};
}

/** Whether a worker that still pings has lost its main process. */
export function mainIsGone(worker: Worker, q: { now: number; pingIntervalMs: number }): boolean {
	return (
		worker.leftAt !== undefined &&
		worker.takes + worker.stops === 0 &&
		q.now - worker.leftAt >= INTERVALS * q.pingIntervalMs
	);
}
