/** A worker's ping: proof of life for the jobs it names, and against those it does not (D16 Lease, wire-protocol B.7). */
import type { EventBus } from "../events.ts";
import type { WorkerStore } from "../store/store.ts";
import type { ReckonDeps } from "./reckon.ts";
import { reckon } from "./reckon.ts";
import type { Worker } from "./workers.ts";

/** What a ping says. */
export interface Ping {
  /** Jobs it holds. */
  named: string[];
  /** Why it is unfit, where it says so. */
  unhealthy?: string | undefined;
}

/** Takes a ping. `pingIntervalMs` is what the worker was told. */
export async function ping(
  d: ReckonDeps & { events: EventBus; workerStore: WorkerStore; pingIntervalMs: number },
  worker: Worker,
  said: Ping,
): Promise<void> {
  const now = d.now();
  if (said.unhealthy !== undefined) {
    worker.unhealthy = true;
    d.events.emit("worker.unhealthy", { endpoint: worker.endpoint, worker: worker.id, reason: said.unhealthy });
    return;
  }
  worker.pinged = true;
  // A run that was to stop and is no longer named has ended; the first ping may still lag behind the stop.
  for (const [id, stop] of worker.stopping) {
    if (!said.named.includes(id) && now - stop.since >= d.pingIntervalMs) d.stopping.over(worker, id);
  }
  const reckoning = await d.workerStore.ping({
    endpoint: worker.endpoint,
    worker: worker.id,
    named: said.named,
    // The list of a ping lags a take by up to one interval: from one interval on it counts.
    handedBefore: now - d.pingIntervalMs + 1,
    now,
  });
  reckon(d, worker, reckoning);
}
