/** What follows from word about a worker's attempts: jobs taken back are offered anew, old attempts known to be over free their jobs (D16). */
import type { EventBus } from "../events.ts";
import type { Reckoning } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Stopping } from "./stop.ts";
import type { Waiting } from "./wait.ts";
import type { Worker } from "./workers.ts";
import { letGo } from "./workers.ts";

export interface ReckonDeps {
  now: () => number;
  events: EventBus;
  dispatch: Dispatch;
  waiting: Waiting;
  stopping: Stopping;
  /** Whether other servers live: they may have handed the worker what it runs, and its words may go to them. */
  others: () => boolean;
}

/** Acts on a {@link Reckoning} of this worker. */
export function reckon(d: ReckonDeps, worker: Worker, { lost, over }: Reckoning): void {
  const { endpoint } = worker;
  for (const id of [...lost, ...over]) {
    letGo(worker, id, d.now());
    d.stopping.over(worker, id);
  }
  // A job whose old attempt is over may go to this very worker now.
  if (lost.length + over.length > 0) d.dispatch.announce(endpoint, lost.length + over.length);
}
