/**
 * Two processes that use one worker id, such as containers started with the same variables (D16). The sign is a take
 * that reports nothing in progress while pings name a job that was handed out before.
 */
import type { EpochMs } from "../../lib/time.ts";
import type { Worker } from "./worker-registry.ts";

/** How long a poll that is cut after the last sign proves no end of the other process, ms. */
const UNSURE_MS = 40_000;

/** Whether a ping that names these jobs shows a second process. It may be older than the take by one ping interval. */
export function showsSecondProcess(
	{ deniedAt, held }: Pick<Worker, "deniedAt" | "held">,
	named: readonly string[],
	{ now, intervalMs }: { now: EpochMs; intervalMs: number },
): boolean {
	if (deniedAt === undefined || now - deniedAt <= intervalMs) return false;
	return named.some((id) => (held.get(id)?.handedAt ?? Infinity) < deniedAt);
}

/** Whether a take of this worker id, or a ping, says so: it may also be a process that was started again. */
export function mayBeShared({ deniedAt = -Infinity, shared }: Worker, now: EpochMs): boolean {
	return now - Math.max(deniedAt, shared?.at ?? -Infinity) < UNSURE_MS;
}
