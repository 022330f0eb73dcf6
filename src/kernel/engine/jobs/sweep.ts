/** Applies passed deadlines and ended leases in the background (D15, D16). Being late changes no answer. */
import { loop, type Loop } from "../../system/loop.ts";
import type { JobDeps } from "./job-deps.ts";

/** Jobs in one step, so that other operations get their turn. */
const SETTLE_LIMIT = 500;

/** Shorter than the shortest lease, so that nothing becomes due unnoticed. */
const SWEEP_MS = 1000;

/**
 * Results and records removed in one step, and the pause after it: a twentieth of what the store can do (decision
 * 0009). There is no pause when the oldest is late by more than `EXPIRY_LATE_MS`.
 */
const EXPIRIES = 250;
const EXPIRY_PAUSE_MS = 100;
const EXPIRY_LATE_MS = 600_000;

/** Only the server that leads the sweep settles. */
export function sweep(d: Pick<JobDeps, "clock" | "now" | "events" | "store" | "cluster">): Loop {
	return loop({
		clock: d.clock,
		retryMs: SWEEP_MS,
		onError: (error) => d.events.emit("fault", { where: "sweep", error }),
		step: async () => {
			if (!d.cluster.leads("sweep")) return SWEEP_MS;
			const { nextDueAt = Infinity, expiryDueAt = Infinity } = await d.store.jobs.settle({
				now: d.now(),
				limit: SETTLE_LIMIT,
				expiries: EXPIRIES,
			});
			const now = d.now();
			const isLate = now - expiryDueAt > EXPIRY_LATE_MS;
			const expiryAt = isLate ? now : Math.max(expiryDueAt, now + EXPIRY_PAUSE_MS);
			return Math.min(SWEEP_MS, Math.max(0, Math.min(nextDueAt, expiryAt) - now));
		},
	});
}
