/**
 * SDK workers ping from a child process, which may outlive the main process and name its jobs without end (D16). The
 * sign is a poll that is cut and not repeated, at an age that earlier polls of the worker have outlived: proxies cut
 * polls too, always at the same age, and a handler that blocks begins no new one. Where two processes use the id, the
 * one that cut its polls may not be the one that pings.
 */
import type { EpochMs } from "../../lib/time.ts";
import type { Worker } from "./worker-registry.ts";

/** Ping intervals, and pings, without a poll after which the main process counts as dead. */
const INTERVALS = 2;

/** How long after the last sign of two processes with one worker id a poll that is cut proves no end, ms. */
const UNSURE_MS = 40_000;

/** The returned function must be called when the poll ends, with whether the worker cut it. */
export function pollBegun(worker: Worker, now: () => EpochMs): (cut: boolean) => void {
	const began = now();
	worker.leftAt = undefined;
	worker.pingsAlone = 0;
	return (cut) => {
		const heldMs = now() - began;
		if (!cut) worker.longestPollMs = Math.max(worker.longestPollMs, heldMs);
		else if (heldMs <= worker.longestPollMs && !mayBeShared(worker, now())) worker.leftAt = now();
	};
}

/** Must be called for each ping: a time without pings is no sign, because the network may have been broken. */
export function isMainProcessDead(
	worker: Worker,
	{ now, pingIntervalMs }: { now: EpochMs; pingIntervalMs: number },
): boolean {
	if (worker.leftAt === undefined || worker.takes + worker.stops > 0) return false;
	worker.pingsAlone += 1;
	return worker.pingsAlone >= INTERVALS && now - worker.leftAt >= INTERVALS * pingIntervalMs;
}

/** Whether a take of this worker id, or a ping, says so: it may also be a process that was started again. */
function mayBeShared({ deniedAt = -Infinity, shared }: Worker, now: EpochMs): boolean {
	return now - Math.max(deniedAt, shared?.at ?? -Infinity) < UNSURE_MS;
}
