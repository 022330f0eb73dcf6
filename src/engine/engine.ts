/** Ties the engine's files together into the one object of `api.ts`. */
import type { Clock } from "../clock.ts";
import { pingIntervalMs, workerEnv } from "../core/worker-env.ts";
import type { EventBus } from "../events.ts";
import type { Handle, Launcher } from "../launchers/launcher.ts";
import type { Store } from "../store/store.ts";
import type { Engine } from "./api.ts";
import { cancel } from "./cancel.ts";
import { dispatch, handBack } from "./dispatch.ts";
import { health } from "./health.ts";
import { hold } from "./hold.ts";
import { hex, jobId } from "./ids.ts";
import type { Random } from "./ids.ts";
import { keys } from "./keys.ts";
import { launching } from "./launch.ts";
import { ping } from "./ping.ts";
import { reckon } from "./reckon.ts";
import { registry } from "./registry.ts";
import { chunks, report } from "./report.ts";
import { scaling } from "./scale.ts";
import { seal } from "./seal.ts";
import { status, statusSync } from "./status.ts";
import { stopping } from "./stop.ts";
import { streamFrom, streamNext } from "./stream.ts";
import { submit } from "./submit.ts";
import { attend, sweep } from "./sweep.ts";
import { stopPoll, take } from "./take.ts";
import { engineTime } from "./time.ts";
import { tokens } from "./tokens.ts";
import { waiting } from "./wait.ts";
import { workers } from "./workers.ts";
import type { Worker } from "./workers.ts";

/** Everything the engine is given. */
export interface EngineOptions {
  store: Store;
  clock: Clock;
  random: Random;
  events: EventBus;
  launchers: ReadonlyMap<string, Launcher>;
  endStrays: (q: { serviceId: string; known: readonly Handle[] }) => Promise<number>;
  /** Key for `s3Config`, 32 bytes (D22). */
  sealKey: Uint8Array;
  /** `SLUICE_API_KEY`. */
  apiKey?: string | undefined;
  /** Environment that launched workers get besides their own. */
  workerBaseEnv: Readonly<Record<string, string>>;
}

/** Builds the engine; nothing runs before `start`. */
export function createEngine(o: EngineOptions): Engine {
  const { store, clock, events, random } = o;
  const { now, heartbeat } = engineTime({ clock, jobs: store.jobs, events });
  const known = registry(store.endpoints);
  const present = workers(events);
  const waits = waiting(clock);
  const sealing = seal(o.sealKey, random);
  const tokenBook = tokens({ store: store.tokens, now, random });
  const keyBook = keys({ store: store.keys, now, random, fromEnvironment: o.apiKey });
  const holding = hold({ clock, now, jobs: store.jobs, events });
  const lanes = dispatch({ jobs: store.jobs, now, events, paused: (id) => draining || known.paused(id), release: (worker, jobs) => inBackground("returning jobs", giveBack(worker, jobs.map(({ job }) => job))) });
  const stops = stopping({
    clock, now, events, workers: present,
    graceMs: (endpoint) => known.get(endpoint).stopGraceMs,
    kill: (worker, why) => inBackground(`ending ${worker.id}`, launch().stop(worker, { why, graceMs: 0 })),
  });
  const reckoning = { now, events, dispatch: lanes, waiting: waits, stopping: stops };
  const sweeping = sweep({ clock, now, jobs: store.jobs, events });
  const attending = attend({ clock, now, store, events, workers: present, registry: known, dispatch: lanes });
  let launchSide: { launching: ReturnType<typeof launching>; scaling: ReturnType<typeof scaling> } | undefined;
  let draining = false;
  /** Ends what is held for a store that is away, when everything else has ended. */
  const stopped = new AbortController();
  let removeSignals = (): void => {};

  function launch(): ReturnType<typeof launching> {
    if (!launchSide) throw new Error("The engine has not been started.");
    return launchSide.launching;
  }

  const background = new Set<Promise<unknown>>();

  /** Work that nobody waits for, until the engine stops. */
  function inBackground(where: string, work: Promise<unknown>): void {
    const done = work.catch((error: unknown) => events.emit("fault", { where, error })).finally(() => background.delete(done));
    background.add(done);
  }

  /** A job ended without a report through this server: whoever waits here gets its result. */
  async function tellEnd(endpoint: string, id: string): Promise<void> {
    const found = await store.jobs.get({ endpoint, id, now: now() });
    if (found?.job.endedAt !== undefined) waits.ended(found);
  }

  async function giveBack(worker: Worker, jobs: readonly { id: string; attempt: number }[]): Promise<void> {
    const back = await handBack({ jobs: store.jobs, now }, worker, jobs);
    for (const id of back) events.emit("job.returned", { endpoint: worker.endpoint, id, worker: worker.id, why: "released" });
    if (back.length > 0) lanes.announce(worker.endpoint, back.length);
  }

  function listen(): () => void {
    const removeStore = store.onSignal((signal) => {
      const { endpoint } = signal;
      if (signal.kind === "queued") {
        if (signal.worker !== undefined) events.emit("job.returned", { endpoint, id: signal.id, worker: signal.worker, why: "lost" });
        waits.news(signal.id);
        lanes.announce(endpoint);
        if (known.has(endpoint)) launchSide?.scaling.queued(endpoint);
      } else if (signal.kind === "stop") stops.request(signal);
      else {
        events.emit("job.settled", { endpoint, id: signal.id, state: signal.state });
        waits.news(signal.id);
        if (waits.awaited(signal.id)) inBackground("telling waiters", tellEnd(endpoint, signal.id));
      }
    });
    const removeReady = events.on("worker.ready", () => launchSide?.scaling.ready());
    return () => {
      removeStore();
      removeReady();
    };
  }

  const submitting = { jobs: store.jobs, now, events, dispatch: lanes, seal: sealing, onQueued: (endpoint: string) => launchSide?.scaling.queued(endpoint) };
  const taking = { ...reckoning, clock, hold: holding, workerStore: store.workers };
  const reporting = {
    store, now, events, hold: holding, dispatch: lanes, waiting: waits, stopping: stops,
    restart: (worker: Worker) => inBackground(`restarting ${worker.id}`, launch().stop(worker, { why: "it asked to be started anew", graceMs: known.get(worker.endpoint).stopGraceMs })),
  };
  const streaming = { chunks: store.chunks, clock, now, waiting: waits };

  return {
    registry: known,
    keys: keyBook,
    tokens: tokenBook,
    now,
    get draining() {
      return draining;
    },
    newId: (operation) => jobId(operation, now(), random),
    async submit(q) {
      await submit(submitting, q);
    },
    async submitAndWait(q, { ms, caller }) {
      const end = waits.forEnd({ id: q.id, ms, caller });
      try {
        await submit(submitting, q);
        return (await end.result) ?? (await status({ jobs: store.jobs, now }, { endpoint: q.endpoint.id, id: q.id }));
      } finally {
        end.leave();
      }
    },
    status: (q) => status({ jobs: store.jobs, now }, q),
    statusSync: (q) => statusSync({ jobs: store.jobs, now, waiting: waits }, q),
    streamNext: (q) => streamNext(streaming, { ...q, reader: hex(random(8)) }),
    streamFrom: (q) => streamFrom(streaming, q),
    cancel: (q) => cancel({ jobs: store.jobs, now, events, waiting: waits, stopping: stops }, q),
    health: (endpoint) => health({ jobs: store.jobs, workers: present, now }, endpoint),
    worker({ id, endpoint }) {
      const at = now();
      const worker = present.get({ endpoint, id }) ?? present.meet({ id, endpoint, ready: true, now: at });
      present.seen(worker, at);
      return worker;
    },
    async take(q) {
      const jobs = await take(taking, q);
      return jobs.map(({ job, input }) => ({ id: job.id, attempt: job.attempt, input, s3Config: job.s3Config === undefined ? undefined : sealing.open(job.s3Config) }));
    },
    handBack: giveBack,
    stopPoll: (q) => stopPoll(taking, q),
    report: (q) => report(reporting, q),
    chunks: (q) => chunks(reporting, q),
    ping: (worker, said) =>
      ping(
        {
          ...reckoning,
          workerStore: store.workers,
          pingIntervalMs: pingIntervalMs(known.get(worker.endpoint).leaseMs),
        },
        worker,
        said,
      ),
    async workerEnv({ endpoint, url, replicas }) {
      const { leaseMs } = known.get(endpoint);
      const worker = replicas ? undefined : `${endpoint}-${hex(random(6))}`;
      const token = await tokenBook.issue({ endpoint, ...(worker === undefined ? {} : { worker }) });
      return workerEnv({ url, endpoint, worker, token, leaseMs });
    },
    ready: () => store.ping(),
    async prepare(endpoints) {
      // Before anything else may settle: live work must not run twice because the service was away (D16 Outages).
      await store.jobs.extendAll({ now: now() });
      await known.load((id, fault) => events.emit("fault", { where: `endpoint ${id} in the store`, error: fault }));
      for (const endpoint of endpoints) await known.put(endpoint, now());
      for (const row of await store.workers.list()) present.meet({ ...row, ready: false, now: now() });
      for (const { endpoint, id, worker, attempt, startedAt } of await store.jobs.running()) {
        present.meet({ id: worker, endpoint, ready: true, now: now() }).held.set(id, { attempt, handedAt: startedAt });
      }
    },
    async start({ url }) {
      const launchingSide = launching({
        store, clock, now, random, events, workers: present, tokens: tokenBook, launchers: o.launchers, url, inBackground,
        baseEnv: o.workerBaseEnv, serviceId: await store.identity(), endStrays: o.endStrays,
        onGone: (worker, code) => {
          launchSide?.scaling.ended(worker, code);
          inBackground(`what worker ${worker.id} held`, holding(() => store.workers.idle({ endpoint: worker.endpoint, worker: worker.id, before: Infinity, now: now() }), stopped.signal).then((said) => reckon(reckoning, worker, said)));
        },
      });
      const scale = scaling({ clock, now, jobs: store.jobs, events, workers: present, registry: known, launching: launchingSide });
      launchSide = { launching: launchingSide, scaling: scale };
      await launchingSide.restore();
      // A stop that was asked for before this start may not have reached its worker (D18).
      for (const run of await store.jobs.unstopped()) {
        present.meet({ id: run.worker, endpoint: run.endpoint, ready: true, now: now() });
        stops.request(run);
      }
      removeSignals = listen();
      for (const each of [heartbeat, sweeping, attending, scale.loop]) each.start();
    },
    async stop({ drainMs }) {
      if (draining) return;
      draining = true;
      events.emit("service.draining", { drainMs });
      waits.sendHome();
      await launchSide?.scaling.loop.stop();
      for (const worker of present.all()) {
        worker.draining = true;
        for (const end of worker.polls) end();
      }
      await nothingHeld(drainMs);
      const running = await store.jobs.running().catch(() => []);
      for (const { endpoint, id, worker, attempt } of running) {
        // A worker of somebody else goes on without us: its job would run twice (D16 Outages).
        if ((present.get({ endpoint, id: worker })?.launcher ?? "external") === "external") continue;
        const moved = await store.jobs.move({ endpoint, id, on: "release", attempt, now: now() }).catch(() => undefined);
        if (moved?.ok) events.emit("job.returned", { endpoint, id, worker, why: "released" });
      }
      if (launchSide) {
        const all = [...present.all()].filter((worker) => worker.launcher !== "external");
        await Promise.all(all.map((worker) => launch().stop(worker, { why: "the service stops", graceMs: known.get(worker.endpoint).stopGraceMs })));
        await launch().close();
      }
      for (const each of [sweeping, attending, heartbeat]) await each.stop();
      removeSignals();
      stopped.abort();
      await Promise.all(background);
    },
  };

  async function nothingHeld(drainMs: number): Promise<void> {
    if (![...present.all()].some((worker) => worker.held.size > 0)) return;
    const over = new AbortController();
    const look = (): void => {
      if (![...present.all()].some((worker) => worker.held.size > 0)) over.abort();
    };
    const remove = [events.on("job.settled", look), events.on("worker.exited", look), events.on("job.returned", look)];
    await clock.sleep(drainMs, over.signal);
    for (const each of remove) each();
  }
}
