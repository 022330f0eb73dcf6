/** A store of one endpoint in a few maps, moved by the pure core alone: what the real ones are compared with. */
import type { Attempt, Job } from "../../src/core/job.ts";
import { countsOf, dueEvent, lossOf, step } from "../../src/core/life.ts";
import type { Counts, EventContext } from "../../src/core/life.ts";
import type { JobEvent } from "../../src/core/machine.ts";
import { T0 } from "./site.ts";

export type Model = ReturnType<typeof modelOf>;

export function modelOf() {
  const jobs = new Map<string, Job>();
  const histories = new Map<string, Attempt[]>();
  /** Ids in the order in which they are handed out, those of low priority among them. */
  let queue: string[] = [];
  /** The order in which the running jobs stood in the queue. */
  let taken: string[] = [];
  const totals: Counts = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
  let now = T0;

  function apply(id: string, on: JobEvent, context: EventContext): boolean {
    const job = jobs.get(id);
    const moved = job && step(job, on, context);
    if (!moved) return false;
    const change = countsOf(on, moved.from, moved.job.state);
    for (const key of Object.keys(totals) as (keyof Counts)[]) totals[key] += change[key];
    queue = queue.filter((other) => other !== id);
    taken = taken.filter((other) => other !== id);
    if (moved.place === "front") queue.unshift(id);
    if (moved.place === "back") queue.push(id);
    if (moved.closed) histories.get(id)?.push(moved.closed);
    if (moved.remove) {
      jobs.delete(id);
      histories.delete(id);
    } else jobs.set(id, moved.job);
    return true;
  }

  /** Takes jobs back, the last of the queue first, so that the first stands in front. */
  function takeBack(ids: readonly string[], context: EventContext): void {
    for (const id of taken.filter((other) => ids.includes(other)).toReversed()) {
      const job = jobs.get(id);
      if (job) apply(id, lossOf(job), context);
    }
  }

  const openAt = (id: string, worker: string): Attempt[] => (histories.get(id) ?? []).filter((past) => past.open && past.worker === worker);

  return {
    jobs,
    get now() {
      return now;
    },
    history: (id: string): Attempt[] => histories.get(id) ?? [],
    attemptOf: (id: string): number => jobs.get(id)?.attempt ?? 0,
    pick: (n: number): string | undefined => [...jobs.keys()][n % Math.max(1, jobs.size)],

    insert(job: Job): void {
      jobs.set(job.id, job);
      histories.set(job.id, []);
      queue.push(job.id);
    },

    claim(worker: string, limit: number): { ids: string[]; fenced: boolean } {
      const ids: string[] = [];
      let fenced = false;
      const order = [...queue].toSorted((a, b) => Number(jobs.get(a)?.lowPriority) - Number(jobs.get(b)?.lowPriority));
      for (const id of order) {
        if (ids.length === limit) break;
        if (openAt(id, worker).length > 0) fenced = true;
        else ids.push(id);
      }
      for (const id of ids) {
        const lane = taken.findIndex((other) => queue.indexOf(other) > queue.indexOf(id));
        apply(id, "claim", { now, worker });
        taken.splice(lane < 0 ? taken.length : lane, 0, id);
      }
      return { ids, fenced };
    },

    report(id: string, worker: string, on: "complete" | "fail"): string {
      const job = jobs.get(id);
      if (!job || job.erased) return "missing";
      if (job.state === "IN_PROGRESS" && job.worker === worker) return apply(id, on, { now }) ? "ok" : "state";
      if (job.worker !== worker && !histories.get(id)?.some((past) => past.worker === worker)) return "missing";
      for (const past of openAt(id, worker)) past.open = false;
      return "stale";
    },

    move(id: string, on: "cancel" | "release" | "lose" | "retry", over: boolean): string {
      const job = jobs.get(id);
      if (!job || job.erased) return "missing";
      return apply(id, on === "lose" ? lossOf(job) : on, { now, over }) ? "ok" : "state";
    },

    idle(worker: string): { lost: string[]; over: string[] } {
      const lost: string[] = [];
      const over: string[] = [];
      for (const [id, job] of jobs) {
        for (const past of openAt(id, worker)) {
          if (past.startedAt >= now) continue;
          past.open = false;
          over.push(id);
        }
        if (job.state === "IN_PROGRESS" && job.worker === worker && (job.startedAt ?? now) < now) lost.push(id);
      }
      takeBack(lost, { now, over: true });
      return { lost, over };
    },

    /** Time goes on, and what has passed is settled: losses last, as a group. */
    pass(ms: number): void {
      now += ms;
      const lost: string[] = [];
      for (const id of jobs.keys()) {
        for (let job = jobs.get(id); job; job = jobs.get(id)) {
          const due = dueEvent(job, now);
          if (due?.on === "lose") lost.push(id);
          if (!due || due.on === "lose" || !apply(id, due.on, { now: due.at })) break;
        }
      }
      takeBack(lost, { now });
    },

    counts(): Counts {
      const all = [...jobs.values()];
      const inState = (state: string): number => all.filter((job) => job.state === state).length;
      return { ...totals, inQueue: inState("IN_QUEUE"), inProgress: inState("IN_PROGRESS") };
    },

    waiting: (): number => [...jobs.values()].filter((job) => job.state === "IN_QUEUE" && !job.lowPriority).length,
  };
}
