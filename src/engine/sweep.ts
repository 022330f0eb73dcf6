/** The loops that tidy up: passed deadlines, leases of workers that do not ping, lost hints (D15, D16). Being late changes no answer. */
import type { Clock } from "../clock.ts";
import type { EventBus } from "../events.ts";
import { loop } from "../service.ts";
import type { Loop } from "../service.ts";
import type { Store } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Registry } from "./registry.ts";
import type { Workers } from "./workers.ts";

/** Jobs settled in one step, so that others get their turn. */
const SETTLE_LIMIT = 500;

/** Longest pause between two looks, ms; shorter than the shortest lease, so that nothing becomes due unseen. */
const SWEEP_MS = 1000;

/** Time between two looks at all lanes, ms: what a lost hint may cost. */
const LOOK_MS = 15_000;

/** How long an external worker is remembered after its last call, ms. */
const FORGET_MS = 120_000;

/** Settles what is due, precisely when it is. */
export function sweep(d: { clock: Clock; now: () => number; jobs: Store["jobs"]; events: EventBus }): Loop {
  return loop({
    clock: d.clock,
    retryMs: SWEEP_MS,
    onError: (error) => d.events.emit("fault", { where: "sweep", error }),
    step: async () => {
      const now = d.now();
      const { settled, nextDueAt } = await d.jobs.settle({ now, limit: SETTLE_LIMIT });
      if (settled >= SETTLE_LIMIT) return 0;
      return Math.min(SWEEP_MS, Math.max(0, (nextDueAt ?? Infinity) - d.clock.now()));
    },
  });
}

/** Keeps leases of workers that never ping while they hold polls open, looks at all lanes, forgets those who left. */
export function attend(d: { clock: Clock; now: () => number; store: Pick<Store, "workers">; events: EventBus; workers: Workers; registry: Registry; dispatch: Dispatch }): Loop {
  let lookedAt = 0;
  return loop({
    clock: d.clock,
    retryMs: SWEEP_MS,
    onError: (error) => d.events.emit("fault", { where: "attending workers", error }),
    step: async () => {
      const now = d.now();
      for (const worker of [...d.workers.all()]) {
        const polling = worker.takes + worker.stops > 0;
        if (!worker.pinged && polling && worker.held.size > 0) await d.store.workers.renew({ endpoint: worker.endpoint, worker: worker.id, now });
        if (worker.launcher === "external" && !polling && now - worker.seenAt >= FORGET_MS) d.workers.forget(worker);
      }
      if (now - lookedAt >= LOOK_MS) {
        lookedAt = now;
        d.dispatch.look();
      }
      return SWEEP_MS / 2;
    },
  });
}
