/** Hands waiting jobs to a worker: which job runs next is decided here. */
import { sizeOf } from "../../core/json/json-text.ts";
import type { Claim } from "../contract/jobs.ts";
import type { Lane } from "./rows/fence.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { FIRST, unpurged } from "./rows/row.ts";
import type { Row } from "./rows/row.ts";
import { WAITING } from "../states.ts";

interface ClaimQuery {
	endpoint: string;
	worker: string;
	limit: number;
	maxBytes: number;
	now: number;
}

/**
 * So many rows are looked up first, and then together: a claim of one job looks at the next as
 * well, and at no more.
 */
const FIRST_FEW = 2;
const AT_ONCE = 32;

/** The `claim` of the contract. */
export function openClaim({ db, queues, records, attempts, texts, moves, due, fence }: UnitOfWork) {
	// A literal LIMIT: with a parameter SQLite would plan the statement again for each value. The one
	// statement on `jobs` that does not write new rows first (R2): they are last (R3).
	const nextWaiting = (most: number) => ({
		most,
		statement: db.prepare(
			`SELECT seq, rank FROM jobs WHERE queue = ? AND low_priority = ? AND state = '${WAITING}' AND rank > ? AND rank < ? AND due_at > ? ORDER BY rank LIMIT ${most}`,
		),
	});
	const firstFew = nextWaiting(FIRST_FEW);
	const further = nextWaiting(AT_ONCE);

	/**
	 * Waiting jobs of the lane that are in the file and have not lapsed, in order, from after `rank`.
	 */
	function* written({ queue, low }: Lane, now: number, rank: number): Generator<Row> {
		for (const { after, before } of unpurged(queue)) {
			let at = Math.max(after, rank);
			let lookup = firstFew;
			for (let full = true; full; lookup = further) {
				const found = lookup.statement.all(queue.number, low, at, before, now);
				full = found.length === lookup.most;
				for (const [seq, place] of found) {
					at = Number(place);
					yield records.at(Number(seq));
				}
			}
		}
	}

	/** Waiting jobs of the lane that have not lapsed, in order, from after `rank`. */
	function* waiting(lane: Lane, now: number, rank: number): Generator<Row> {
		// R3: a copy, since rows are written when the cache drops some in the middle of a claim. They may
		// then be found twice.
		const fresh = [...lane.queue.unwritten[lane.low].keys()];
		if (!queues.allNew(lane.queue)) yield* written(lane, now, rank);
		for (const seq of fresh) {
			const row = records.at(seq);
			if (row.job.state === WAITING && row.rank > rank && row.job.dueAt > now) yield row;
		}
	}

	/** Whether jobs wait in the part of the lane that is known to be fenced. */
	function waitsUpTo(lane: Lane, rank: number, now: number): boolean {
		for (const first of waiting(lane, now, FIRST)) return first.rank <= rank;
		return false;
	}

	/** Walks one priority of the queue and adds jobs to `claim`. False when no more fit. */
	function walk({
		lane,
		q,
		claim,
		room,
	}: {
		lane: Lane;
		q: ClaimQuery;
		claim: Claim;
		room: { left: number };
	}): boolean {
		const fencing = attempts.anyOpen(q.worker);
		const walked = fencing ? fence.walked(lane) : FIRST;
		if (walked > FIRST && waitsUpTo(lane, walked, q.now)) claim.fenced = true;
		let fencedTo = walked;
		try {
			for (const row of waiting(lane, q.now, walked)) {
				if (claim.jobs.length >= q.limit) return false;
				if (fencing && row.job.attempt > 0 && attempts.isOpen(row, q.worker)) {
					claim.fenced = true;
					fencedTo = row.rank;
					continue;
				}
				const input = texts.input(row, claim.jobs.length > 0 ? room.left : Infinity);
				if (input === undefined) return false;
				room.left -= sizeOf(input);
				const applied = moves.apply(row, "claim", { now: q.now, worker: q.worker });
				if (applied?.row) claim.jobs.push({ job: applied.row.job, input });
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
		if (
			walk({ lane: { worker: q.worker, queue, low: 0 }, q, claim, room }) &&
			queue.lowInQueue > 0
		) {
			walk({ lane: { worker: q.worker, queue, low: 1 }, q, claim, room });
		}
		return claim;
	};
}
