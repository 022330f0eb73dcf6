/** The operations on jobs, but for `claim`. Each runs inside a batch of the database thread. */
import { countsOf, dueAt, lossOf } from "../../core/life.ts";
import type { Counts } from "../../core/life.ts";
import { newJob } from "../../core/job.ts";
import type { Moved, Running } from "../store.ts";
import { openClaim } from "./claim.ts";
import type { Parts } from "./parts.ts";
import type { Row } from "./row.ts";
import { RUNNING, WAITING } from "./states.ts";
import type { GroupHandlers } from "./operations.ts";

const NO_COUNTS: Readonly<Counts> = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };

export function openJobs(parts: Parts): GroupHandlers<"jobs"> {
  const { queues, records, attempts, texts, moves, due } = parts;
  // Jobs that joined at the back began to wait in the order of their rank; of those that joined at the front (rank below 0) the last began first.
  const oldestAtBack = records.prepare(`SELECT queued_at FROM jobs WHERE queue = ? AND low_priority = 0 AND state = '${WAITING}' AND rank > 0 AND due_at > ? ORDER BY rank LIMIT 1`);
  const oldestAtFront = records.prepare(`SELECT queued_at FROM jobs WHERE queue = ? AND low_priority = 0 AND state = '${WAITING}' AND rank < 0 AND due_at > ? ORDER BY rank DESC LIMIT 1`);
  const running = records.prepare(`SELECT seq FROM jobs WHERE state = '${RUNNING}'`);

  /** The row of a job after what has passed for it; undefined for an unknown or erased one. */
  function settled(q: { endpoint: string; id: string; now: number }): Row | undefined {
    const found = records.find(q);
    const row = found && moves.pass(found, q.now);
    return row?.job.erased ? undefined : row;
  }

  function moved(row: Row, applied: ReturnType<typeof moves.apply>): Moved {
    return applied ? { ok: true, job: applied.step.job } : { ok: false, why: "state", state: row.job.state };
  }

  return {
    insert({ submission, input, now, queueBound }) {
      const queue = queues.of(submission.endpoint);
      if (queueBound !== undefined) {
        due.freshen(now);
        if (queue.counts.inQueue > queueBound) due.settleUntil(now, () => queue.counts.inQueue <= queueBound);
        if (queue.counts.inQueue > queueBound) return { ok: false, why: "full" };
      }
      const job = newJob(submission, now);
      const { seq } = records.insert({ job, queue, rank: queues.nextBack() });
      texts.setInput(seq, input);
      queues.added(queue, job.lowPriority);
      return { ok: true, job };
    },

    get({ endpoint, id, now }) {
      const row = records.find({ endpoint, id });
      const projected = row && moves.project(row, now);
      if (!projected || projected.job.erased) return undefined;
      if (projected.steps.length > 0) return { job: projected.job, error: projected.error };
      if (row.job.state === WAITING) return { job: row.job };
      return { job: row.job, ...texts.result(row.seq) };
    },

    counts({ endpoint, now }) {
      due.freshen(now);
      const queue = queues.find(endpoint);
      if (!queue) return { ...NO_COUNTS };
      const counts = { ...queue.counts };
      for (const { after } of due.unsettled(queue, now)) {
        for (const { on, from, job } of after?.steps ?? []) {
          const change = countsOf(on, from, job.state);
          for (const key of Object.keys(counts) as (keyof Counts)[]) counts[key] += change[key];
        }
      }
      return counts;
    },

    waiting({ endpoint, now }) {
      due.freshen(now);
      const queue = queues.find(endpoint);
      if (!queue) return { jobs: 0 };
      let jobs = queue.counts.inQueue - queue.lowInQueue;
      const began = [oldestAtBack, oldestAtFront].flatMap((statement) => statement.get(queue.number, now) ?? []) as number[];
      for (const { row, after } of due.unsettled(queue, now)) {
        if (row.job.lowPriority) continue;
        if (row.job.state === WAITING) jobs -= 1;
        if (after?.job.state === WAITING) {
          jobs += 1;
          began.push(after.job.queuedAt);
        }
      }
      return jobs > 0 ? { jobs, oldestQueuedAt: Math.min(...began) } : { jobs };
    },

    claim: openClaim(parts),

    report({ endpoint, id, worker, outcome, now }) {
      const row = settled({ endpoint, id, now });
      if (!row) return { ok: false, why: "missing" };
      const { state } = row.job;
      if (state === RUNNING && row.job.worker === worker) {
        return moved(row, moves.apply(row, outcome.on, { now, result: { output: outcome.output, error: outcome.error } }));
      }
      const known = row.job.worker === worker || attempts.includes(row.seq, worker);
      if (!known) return { ok: false, why: "missing", state };
      attempts.closeAt(row.seq, worker);
      return { ok: false, why: "stale", state };
    },

    progress({ endpoint, id, worker, value, now }) {
      const row = settled({ endpoint, id, now });
      if (row?.job.state !== RUNNING || row.job.worker !== worker) return false;
      texts.setResult(row.seq, { output: value });
      moves.renew(row, now);
      return true;
    },

    move({ endpoint, id, on, attempt, over = false, now }) {
      const row = settled({ endpoint, id, now });
      if (!row) return { ok: false, why: "missing" };
      if ((on === "release" || on === "lose") && attempt !== row.job.attempt) return { ok: false, why: "stale", state: row.job.state };
      return moved(row, moves.apply(row, on === "lose" ? lossOf(row.job) : on, { now, over }));
    },

    settle: (q) => due.settle(q),

    extendAll({ now }) {
      for (const [seq] of running.all()) {
        const row = records.at(Number(seq));
        const leaseUntil = Math.max(row.job.leaseUntil ?? 0, now + row.job.leaseMs);
        const job = { ...row.job, leaseUntil, missed: 0 };
        records.update(row, { job: { ...job, dueAt: dueAt(job) } });
      }
      attempts.forgetMissed();
    },

    running(): Running[] {
      return running.all().map(([seq]) => {
        const { endpoint, id, worker = "", attempt, startedAt = 0 } = records.at(Number(seq)).job;
        return { endpoint, id, worker, attempt, startedAt };
      });
    },

    unstopped() {
      return attempts.unstopped().map(({ seq, worker }) => {
        const { endpoint, id } = records.at(seq).job;
        return { endpoint, id, worker };
      });
    },

    attempts(q) {
      const row = records.find(q);
      return row ? attempts.list(row.seq) : [];
    },
  };
}
