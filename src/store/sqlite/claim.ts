/** Hands waiting jobs to a worker: which job runs next is decided here. */
import type { Claim, Claimed } from "../store.ts";
import type { Lane } from "./fence.ts";
import type { Parts } from "./parts.ts";
import { WAITING } from "./states.ts";

interface ClaimQuery {
  endpoint: string;
  worker: string;
  limit: number;
  maxBytes: number;
  now: number;
}

/** The `claim` of the contract. */
export function openClaim({ db, queues, records, attempts, texts, moves, due, fence }: Parts) {
  // A literal LIMIT: a parameter would have the statement planned anew for each value.
  const nextWaiting = db.prepare(`SELECT seq, rank FROM jobs WHERE queue = ? AND low_priority = ? AND state = '${WAITING}' AND rank > ? AND due_at > ? ORDER BY rank LIMIT 1`);

  /** Walks one priority of the queue and adds jobs to `claim`. False when no more fit. */
  function walk({ lane, q, claim, room }: { lane: Lane; q: ClaimQuery; claim: Claim; room: { left: number } }): boolean {
    const fencing = attempts.anyOpen(q.worker);
    const next = (rank: number) => nextWaiting.get(lane.queue.number, lane.low, rank, q.now) as [number, number] | undefined;
    const walked = fencing ? fence.walked(lane) : Number.MIN_SAFE_INTEGER;
    if (walked > Number.MIN_SAFE_INTEGER && (next(Number.MIN_SAFE_INTEGER)?.[1] ?? Number.MAX_SAFE_INTEGER) <= walked) claim.fenced = true;
    let fencedTo = walked;
    try {
      for (let found = next(walked); found; found = next(found[1])) {
        if (claim.jobs.length >= q.limit) return false;
        const [seq, rank] = found;
        const row = records.at(seq);
        if (fencing && row.job.attempt > 0 && attempts.isOpen(seq, q.worker)) {
          claim.fenced = true;
          fencedTo = rank;
          continue;
        }
        const input = texts.input(seq);
        if (claim.jobs.length > 0 && input.length > room.left) return false;
        room.left -= input.length;
        const applied = moves.apply(row, "claim", { now: q.now, worker: q.worker });
        if (applied?.row) claim.jobs.push({ job: applied.row.job, input } satisfies Claimed);
      }
      return true;
    } finally {
      if (fencedTo > walked) fence.remember(lane, fencedTo);
    }
  }

  return (q: ClaimQuery): Claim => {
    const claim: Claim = { jobs: [], fenced: false };
    due.freshen(q.now);
    const queue = queues.find(q.endpoint);
    if (!queue || queue.counts.inQueue === 0 || q.limit <= 0) return claim;
    const room = { left: q.maxBytes };
    if (walk({ lane: { worker: q.worker, queue, low: 0 }, q, claim, room }) && queue.lowInQueue > 0) {
      walk({ lane: { worker: q.worker, queue, low: 1 }, q, claim, room });
    }
    return claim;
  };
}
