/** A service with endpoints for external workers on a manual clock, and what tests of the worker side do with it again and again. */
import { expect } from "vitest";
import type { EventName, Events } from "../../src/events.ts";
import type { ManualClock } from "./manual-clock.ts";
import { manualClock } from "./manual-clock.ts";
import { sdkProtocol } from "./sdk-protocol.ts";
import type { Answer, SdkProtocol } from "./sdk-protocol.ts";
import { sdkWorker } from "./sdk-worker.ts";
import type { SdkWorker, SdkWorkerOptions } from "./sdk-worker.ts";
import { call, startService } from "./service.ts";
import type { Folder, TestService } from "./service.ts";

/** The endpoint that is meant where none is named. */
export const EP = "ep";

/** The variables of a new worker of an endpoint, from the service itself. */
export async function workerEnvOf(url: string, endpoint = EP, q: { replicas?: boolean } = {}): Promise<Record<string, string>> {
  const { json } = await call(url, `/v1/endpoints/${endpoint}/worker-env?url=${encodeURIComponent(url)}${q.replicas ? "&replicas=true" : ""}`, { method: "POST" });
  return json.env as Record<string, string>;
}

/** The same worker, told that the service is at another address. */
export function movedEnv(env: Record<string, string>, url: string): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace(/^http:\/\/[^/]+/, url)]));
}

/** Submits with `/run` and answers the id. */
export async function submit(url: string, body: object = { input: {} }, endpoint = EP): Promise<string> {
  const { status, json, text } = await call(url, `/v2/${endpoint}/run`, { body });
  expect(status, text).toBe(200);
  return json.id as string;
}

/** The job object of `/status`. */
export async function statusOf(url: string, id: string, endpoint = EP): Promise<any> {
  const { status, json, text } = await call(url, `/v2/${endpoint}/status/${id}`);
  expect(status, text).toBe(200);
  return json;
}

/** Ids of the jobs in an answer to job-take or job-take-batch; none for 204. */
export function idsOf({ status, text }: Answer): string[] {
  if (status === 204) return [];
  expect(status, text).toBe(200);
  return ([JSON.parse(text)].flat() as { id: string }[]).map(({ id }) => id);
}

/** Ids in an answer of the stop channel; none for 204. */
export function stopsOf({ status, text }: Answer): string[] {
  if (status === 204) return [];
  expect(status, text).toBe(200);
  return (JSON.parse(text) as { jobsToStop: string[] }).jobsToStop;
}

/** Resolves when the condition holds; real input and output go on meanwhile. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** A bench: a service, its clock, and workers that end with it. */
export interface Bench {
  service: TestService;
  clock: ManualClock;
  url: string;
  /** All events so far, in order. */
  events: { name: EventName; facts: any }[];
  /** Facts of the events of one name so far. */
  of<N extends EventName>(name: N): Events[N][];
  /** Lengths of all sleeps begun on the service's clock, ms: tells that a pause has begun. */
  slept: readonly number[];
  /** A new worker that makes each call when told. */
  worker(endpoint?: string): Promise<SdkProtocol>;
  /** A new worker with the loops of the SDK, on the bench's clock. */
  sdk(q: Partial<SdkWorkerOptions> & Pick<SdkWorkerOptions, "handler">, endpoint?: string): Promise<SdkWorker>;
  /** A poll that is known to be held: resolves when it is, with its answer to come. `hangUp` cuts the connection, and resolves when the service knows. */
  held(worker: SdkProtocol, call: (signal: AbortSignal) => Promise<Answer>): Promise<{ answer: Promise<Answer>; hangUp(): Promise<void> }>;
  /** Wakes what is due, without moving time, until this resolves. */
  reached<T>(promise: Promise<T>): Promise<T>;
  /** Takes the one job there is, which must be `id`. */
  takes(worker: SdkProtocol, id: string, q?: { busy?: boolean }): Promise<void>;
  /** An event that is to come within the present moment. */
  next: TestService["next"];
  end(): Promise<void>;
}

/** Starts a bench. `drainSeconds` as in the command line. */
export async function bench(q: { endpoints?: Record<string, object>; in?: Folder; startAt?: number; drainSeconds?: number } = {}): Promise<Bench> {
  const clock = q.startAt === undefined ? manualClock() : manualClock(q.startAt);
  const slept: number[] = [];
  const watched = { now: clock.now, sleep: (ms: number, signal?: AbortSignal) => (slept.push(ms), clock.sleep(ms, signal)) };
  const service = await startService({ endpoints: q.endpoints ?? { [EP]: {} }, clock: watched, ...(q.in ? { in: q.in } : {}), ...(q.drainSeconds === undefined ? {} : { drainSeconds: q.drainSeconds }) });
  const { url, engine } = service;
  const events: Bench["events"] = [];
  service.events.onAny((name, facts) => events.push({ name, facts }));
  const protocols: SdkProtocol[] = [];
  const loops: SdkWorker[] = [];

  async function reached<T>(promise: Promise<T>): Promise<T> {
    let done = false;
    const watched = promise.finally(() => (done = true));
    watched.catch(() => {});
    while (!done) await clock.advance(0);
    return await watched;
  }

  return {
    service, clock, url, events, slept, reached,
    of: (name) => events.filter((event) => event.name === name).map(({ facts }) => facts),
    next: service.next,
    async worker(endpoint = EP) {
      const protocol = sdkProtocol(await workerEnvOf(url, endpoint));
      protocols.push(protocol);
      return protocol;
    },
    async sdk(options, endpoint = EP) {
      const worker = sdkWorker({ sleep: clock.sleep, ...options, env: options.env ?? (await workerEnvOf(url, endpoint)) });
      loops.push(worker);
      return worker;
    },
    async held({ id, endpoint }, ask) {
      const seen = engine.worker({ id, endpoint });
      const before = seen.polls.size;
      const cut = new AbortController();
      const answer = ask(cut.signal);
      answer.catch(() => {});
      await until(() => seen.polls.size > before);
      return {
        answer,
        async hangUp() {
          cut.abort();
          await until(() => seen.polls.size === before);
        },
      };
    },
    async takes(worker, id, { busy = false } = {}) {
      expect(idsOf(await worker.take({ busy }))).toEqual([id]);
    },
    async end() {
      for (const worker of loops) await worker.kill();
      for (const protocol of protocols) protocol.close();
      let ended = false;
      const end = service.end().finally(() => (ended = true));
      while (!ended) await clock.advance(1000);
      await end;
    },
  };
}
