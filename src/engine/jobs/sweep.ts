/** Settles what is due: passed deadlines, ended leases (D15, D16). Being late changes no answer. */
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { JobDeps } from "./job-deps.ts";

/** Jobs settled in one step, so that other operations get their turn. */
const SETTLE_LIMIT = 500;

/** Longest pause, ms; shorter than the shortest lease, so that nothing becomes due unnoticed. */
const SWEEP_MS = 1000;

/** Settles at the time that something is due; of several servers the one that leads the sweep. */
export function sweep(d: Pick<JobDeps, "clock" | "now" | "events" | "store" | "cluster">): Loop {
	return loop({
		clock: d.clock,
		retryMs: SWEEP_MS,
		onError: (error) => d.events.emit("fault", { where: "sweep", error }),
		step: async () => {
			if (!d.cluster.leads("sweep")) return SWEEP_MS;
			const { settled, nextDueAt } = await d.store.jobs.settle({
				now: d.now(),
				limit: SETTLE_LIMIT,
			});
			if (settled >= SETTLE_LIMIT) return 0;
			return Math.min(SWEEP_MS, Math.max(0, (nextDueAt ?? Infinity) - d.now()));
		},
	});
}
