/** Starts, takes over and ends the workers of launched endpoints, recorded before they are counted on (D25, D34). */
import type { Clock } from "../clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { workerEnv } from "../core/worker-env.ts";
import type { EventBus } from "../events.ts";
import type { Exit, Handle, Launcher } from "../launchers/launcher.ts";
import type { Store } from "../store/store.ts";
import type { Random } from "./ids.ts";
import { hex } from "./ids.ts";
import type { Tokens } from "./tokens.ts";
import type { Worker, Workers } from "./workers.ts";

/** The variable that marks a worker as this service's, so that one left behind can be found. */
export const SERVICE_MARK = "SLUICE_SERVICE_ID";

/** From the 204 of its polls to the signal, ms: the answers must be out first (wire-protocol B.8). */
const POLLS_OUT_MS = 20;

/** Workers of launchers. */
export interface Launching {
  /** Starts one; throws when it cannot be started. */
  start(endpoint: Endpoint): Promise<void>;
  /** Ends one: no more jobs, polls answered, signal, after `graceMs` for certain. */
  stop(worker: Worker, q: { why: string; graceMs: number }): Promise<void>;
  /** Takes over what lives of earlier runs at this address, ends the rest. */
  restore(): Promise<void>;
  /** Ids of workers under way to their end. */
  ending(id: string): boolean;
  close(): Promise<void>;
}

interface Deps {
  store: Pick<Store, "workers" | "jobs" | "tokens">;
  clock: Clock;
  now: () => number;
  random: Random;
  events: EventBus;
  workers: Workers;
  tokens: Tokens;
  /** Launchers by name. */
  launchers: ReadonlyMap<string, Launcher>;
  /** Address that workers call, without a slash at the end. */
  url: string;
  /** Environment every launched worker gets under its own. */
  baseEnv: Readonly<Record<string, string>>;
  /** The store's identity. */
  serviceId: string;
  /** Ends marked workers that no record knows; answers how many. */
  endStrays: (q: { serviceId: string; known: readonly Handle[] }) => Promise<number>;
  /** Work that nobody waits for, but that a stop must wait for. */
  inBackground: (where: string, work: Promise<unknown>) => void;
  /** A launched worker's process is gone, with what it held. */
  onGone: (worker: Worker, code: number | undefined) => void;
}

/** Launching over the given launchers. */
export function launching(d: Deps): Launching {
  const ending = new Set<string>();

  async function gone({ workerId, code, signal, lastOutput }: Exit): Promise<void> {
    ending.delete(workerId);
    const worker = [...d.workers.all()].find(({ id, launcher }) => id === workerId && launcher !== "external");
    if (!worker) return;
    d.events.emit("worker.exited", { endpoint: worker.endpoint, worker: workerId, code, signal, lastOutput });
    for (const end of worker.polls) end();
    d.workers.forget(worker);
    d.onGone(worker, code);
    await d.store.workers.remove({ id: workerId });
    await d.tokens.revoke(workerId);
  }

  for (const launcher of d.launchers.values()) {
    launcher.onExit((exit) => d.inBackground(`end of worker ${exit.workerId}`, gone(exit)));
  }

  return {
    async start(endpoint) {
      const { launcher: settings } = endpoint;
      const launcher = d.launchers.get(settings.type);
      if (settings.type === "external" || !launcher) throw new Error(`Endpoint ${endpoint.id} launches no workers.`);
      const id = `${endpoint.id}-${hex(d.random(6))}`;
      const token = await d.tokens.issue({ endpoint: endpoint.id, worker: id });
      const now = d.now();
      const row = { id, endpoint: endpoint.id, launcher: settings.type, url: d.url, createdAt: now };
      await d.store.workers.put(row);
      const worker = d.workers.meet({ id, endpoint: endpoint.id, launcher: settings.type, ready: false, now });
      try {
        const handle = await launcher.start({
          workerId: id,
          endpoint: endpoint.id,
          command: settings.command,
          cwd: settings.cwd ?? ".",
          env: { ...d.baseEnv, ...endpoint.env, ...workerEnv({ url: d.url, endpoint: endpoint.id, worker: id, token, leaseMs: endpoint.leaseMs }), [SERVICE_MARK]: d.serviceId },
        });
        await d.store.workers.put({ ...row, handle: JSON.stringify(handle) });
        d.events.emit("worker.launched", { endpoint: endpoint.id, worker: id });
      } catch (error) {
        d.workers.forget(worker);
        await launcher.stop(id, 0);
        await d.store.workers.remove({ id });
        await d.tokens.revoke(id);
        throw error;
      }
    },
    async stop(worker, { why, graceMs }) {
      const launcher = d.launchers.get(worker.launcher);
      if (!launcher || worker.launcher === "external") return;
      worker.draining = true;
      ending.add(worker.id);
      d.events.emit("worker.stopping", { endpoint: worker.endpoint, worker: worker.id, why });
      for (const end of worker.polls) end();
      if (graceMs > 0) await d.clock.sleep(POLLS_OUT_MS);
      await launcher.stop(worker.id, graceMs);
    },
    async restore() {
      const known: Handle[] = [];
      for (const row of await d.store.workers.list()) {
        const launcher = d.launchers.get(row.launcher);
        const worker = d.workers.meet({ ...row, ready: false, now: d.now() });
        const handle = row.handle === undefined ? undefined : (JSON.parse(row.handle) as Handle);
        if (!launcher || !handle || !(await launcher.adopt(row.id, handle))) {
          worker.draining = true;
          await gone({ workerId: row.id, lastOutput: "" });
          continue;
        }
        known.push(handle);
        // It called the service that was here before.
        d.workers.seen(worker, d.now());
        if (row.url === d.url) d.events.emit("worker.adopted", { endpoint: row.endpoint, worker: row.id });
        else await this.stop(worker, { why: `it calls ${row.url ?? "nowhere"}, and the service is at ${d.url} now`, graceMs: 0 });
      }
      await d.endStrays({ serviceId: d.serviceId, known });
    },
    ending: (id) => ending.has(id),
    async close() {
      for (const launcher of d.launchers.values()) await launcher.close();
    },
  };
}
