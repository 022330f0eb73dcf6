/**
 * Whether the main process of a worker is alive, where its pings do not show it: SDK workers ping
 * from a child process, which may outlive its parent and name its jobs without end (D16). The sign is a
 * poll that the worker cuts and does not repeat. Proxies cut polls too, always at the same age, and
 * a handler that blocks cannot begin a new one: so a cut counts only at an age that earlier polls of
 * this worker have outlived. The execution timeout ends what this does not notice.
 */
import type { EpochMs } from "../../core/time.ts";
import type { Worker } from "./worker-registry.ts";

/** Ping intervals, and pings, without a poll after which the main process counts as dead. */
const INTERVALS = 2;

/** A poll begins; the returned function is called at its end with whether the worker cut it. */
export function pollBegun(worker: Worker, now: () => EpochMs): (cut: boolean) => void {
	const began = now();
	worker.leftAt = undefined;
	worker.pingsAlone = 0;
	return (cut) => {
		const heldMs = now() - began;
		if (!cut) worker.longestPollMs = Math.max(worker.longestPollMs, heldMs);
		else if (heldMs <= worker.longestPollMs) worker.leftAt = now();
	};
}

/**
 * Whether a worker that pings has lost its main process. To be called for each ping: a time in which
 * those did not arrive either is no sign, since its network may have been broken.
 */
export function isMainProcessDead(
	worker: Worker,
	{ now, pingIntervalMs }: { now: EpochMs; pingIntervalMs: number },
): boolean {
	if (worker.leftAt === undefined || worker.takes + worker.stops > 0) return false;
	worker.pingsAlone += 1;
	return worker.pingsAlone >= INTERVALS && now - worker.leftAt >= INTERVALS * pingIntervalMs;
}
