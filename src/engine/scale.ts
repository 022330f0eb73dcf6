/** The loop that looks at launched endpoints and starts or ends workers (D27, D28). Decides nothing itself: see `core/scale.ts`. */
import type { Clock } from "../clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import type { Sample } from "../core/scale.ts";
import { desiredWorkers } from "../core/scale.ts";
import type { EventBus } from "../events.ts";
import { loop } from "../service.ts";
import type { Loop } from "../service.ts";
import type { JobStore } from "../store/store.ts";
import type { Launching } from "./launch.ts";
import type { Registry } from "./registry.ts";
import type { Worker, Workers } from "./workers.ts";

/** Time between two looks at everything, ms. */
const LOOK_MS = 1000;

/** First and longest pause after a worker that ended before it called, ms; doubled each time (D28). */
const BACKOFF_MS = [1000, 60_000] as const;

/** A worker that lives this long after its first call is sound, ms; one that ends sooner by itself has crashed (D28). */
const SOUND_MS = 10_000;

/** The scaling loop. */
export interface Scaling {
  loop: Loop;
  /** A job waits there: looks at once unless help is on its way. */
  queued(endpoint: string): void;
  /** A worker ended, with this exit code if it is known. */
  ended(worker: Worker, code: number | undefined): void;
  /** A worker called for the first time. */
  ready(): void;
  /** Looks at everything at once. */
  look(): void;
  /** Why no worker is started there for a while; undefined when nothing holds it back. */
  crashing(endpoint: string): string | undefined;
}

/** Scaling over what this server knows. */
export function scaling(d: { clock: Clock; now: () => number; jobs: JobStore; events: EventBus; workers: Workers; registry: Registry; launching: Launching }): Scaling {
  const crashes = new Map<string, { count: number; until: number; reason: string }>();

  function mine(endpoint: Endpoint): Worker[] {
    return [...d.workers.of(endpoint.id)].filter((worker) => worker.launcher !== "external" && !worker.draining && !d.launching.ending(worker.id));
  }

  function crashed(endpoint: string, reason: string): void {
    const count = (crashes.get(endpoint)?.count ?? 0) + 1;
    const retryMs = Math.min(BACKOFF_MS[0] * 2 ** (count - 1), BACKOFF_MS[1]);
    crashes.set(endpoint, { count, until: d.now() + retryMs, reason });
    d.events.emit("worker.failed", { endpoint, reason, retryMs });
  }

  async function look(endpoint: Endpoint): Promise<void> {
    const now = d.now();
    const present = mine(endpoint);
    if (present.some((worker) => worker.ready && now - worker.createdAt >= SOUND_MS)) crashes.delete(endpoint.id);
    const idle = present.filter((worker) => worker.ready && worker.held.size === 0);
    const tooLong = idle.filter((worker) => now - worker.idleSince >= endpoint.idleTimeout * 1000);
    const { jobs: waiting } = d.registry.paused(endpoint.id) ? { jobs: 0 } : await d.jobs.waiting({ endpoint: endpoint.id, now });
    const starting = present.filter((worker) => !worker.ready).length;
    const sample: Sample = { waiting, busy: present.length - idle.length - starting, idle: idle.length, starting, idleTooLong: tooLong.length };
    const wanted = desiredWorkers(sample, endpoint);
    for (let count = present.length; count < wanted; count += 1) {
      if ((crashes.get(endpoint.id)?.until ?? 0) > now) return;
      try {
        await d.launching.start(endpoint);
      } catch (error) {
        return crashed(endpoint.id, (error as Error).message);
      }
    }
    for (const worker of tooLong.slice(0, Math.max(0, present.length - wanted))) {
      d.launching.stop(worker, { why: `idle for over ${endpoint.idleTimeout} s`, graceMs: endpoint.stopGraceMs }).catch((error: unknown) => d.events.emit("fault", { where: `stopping ${worker.id}`, error }));
    }
  }

  const scaleLoop = loop({
    clock: d.clock,
    retryMs: LOOK_MS,
    onError: (error) => d.events.emit("fault", { where: "scaling", error }),
    step: async () => {
      for (const { endpoint } of d.registry.all()) if (endpoint.launcher.type !== "external") await look(endpoint);
      return LOOK_MS;
    },
  });

  return {
    loop: scaleLoop,
    queued(id) {
      const endpoint = d.registry.get(id);
      if (endpoint.launcher.type === "external") return;
      const present = mine(endpoint);
      if (present.length < endpoint.workersMax && present.every((worker) => worker.ready && worker.held.size > 0)) scaleLoop.nudge();
    },
    ended(worker, code) {
      // One that ends well after a call may have been told to by its own code (wire-protocol B.5, refresh_worker).
      const sound = worker.ready && (code === 0 || d.now() - worker.createdAt >= SOUND_MS);
      if (!sound && !worker.draining) crashed(worker.endpoint, `it ended${code === undefined ? "" : ` with exit code ${code}`} ${worker.ready ? "soon after its start" : "before it asked for a job"}`);
      scaleLoop.nudge();
    },
    ready: () => scaleLoop.nudge(),
    look: () => scaleLoop.nudge(),
    crashing: (endpoint) => crashes.get(endpoint)?.reason,
  };
}
