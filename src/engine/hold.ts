/** Worker posts while the store is away: held and tried again, because an SDK worker loses a result after a few refusals (D40, wire-protocol B.6). */
import type { Clock } from "../clock.ts";
import type { EventBus } from "../events.ts";
import { StoreUnavailable } from "../store/store.ts";
import type { JobStore } from "../store/store.ts";

/** How long a post is held before the worker is told to come again, ms. */
const HOLD_MS = 120_000;

/** First and longest pause between tries, ms. */
const PAUSE_MS = [100, 2000] as const;

/** Runs a store step again and again while the store is away. */
export type Hold = <T>(step: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Knows whether the store is away, and holds work meanwhile. After an outage every lease is extended first (D16). */
export function hold({ clock, now, jobs, events }: { clock: Clock; now: () => number; jobs: JobStore; events: EventBus }): Hold {
  let away = false;
  return async (step, signal) => {
    const since = clock.now();
    for (let pause: number = PAUSE_MS[0]; ; pause = Math.min(pause * 2, PAUSE_MS[1])) {
      try {
        if (away) {
          await jobs.extendAll({ now: now() });
          away = false;
          events.emit("store.back", {});
        }
        return await step();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || error.why === "closed") throw error;
        if (!away) events.emit("store.away", { why: error.message });
        away = true;
        if (signal?.aborted || clock.now() - since >= HOLD_MS) throw error;
        await clock.sleep(pause, signal);
      }
    }
  };
}
