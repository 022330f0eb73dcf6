/**
 * Finds the waiting jobs for a claim: normal priority first, then low, each by rank.
 *
 * Rows of the file come first, then the jobs of this transaction that are in memory only, whose ranks are higher (R2,
 * R3). The end of a walk is not remembered, unlike in PostgreSQL: a claimed job leaves the index at once. Remembered is
 * how far a worker's claims found only jobs fenced from it (D16 Fence, R7), since it would pass all of them at each
 * poll.
 */
import { type JsonText, sizeOf } from "../../../lib/json/json-text.ts";
import { damageOf } from "../file/disk-errors.ts";
import { offer, pendingClaim, type PendingClaim } from "../../operations/claim.ts";
import type { Handler } from "../../operations/operation.ts";
import type { Lane } from "../rows/fence.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { FIRST, type Row, unpurged } from "../rows/row.ts";
import { WAITING } from "../../row.ts";

/**
 * Rows of the first read: two suffice for a claim of one job, which reads the next job to see whether there is more.
 */
const FIRST_FEW = 2;
const AT_ONCE = 32;

type Input = JsonText | { damage: string };

const hasDamage = (input: Input): input is { damage: string } => typeof input === "object" && "damage" in input;

export function openClaim({
	db,
	queues,
	records,
	attempts,
	payloads,
	transitions,
	due,
	fence,
}: UnitOfWork): Handler<"jobs.claim"> {
	const inputs = {
		take(row: Row, most: number): Input | undefined {
			try {
				return payloads.input(row, most);
			} catch (error) {
				return { damage: damageOf(error) };
			}
		},
		size: (input: Input) => (hasDamage(input) ? 0 : sizeOf(input)),
	};
	// LIMIT is a literal: SQLite would replan for each value of a parameter. The only statement on `jobs` that does not
	// write new rows first (R2): they are last (R3).
	const nextWaiting = (most: number) => ({
		most,
		statement: db.prepare(
			`SELECT seq, rank FROM jobs WHERE queue = ? AND low_priority = ? AND state = '${WAITING}'
				AND rank > ? AND rank < ? AND due_at > ? ORDER BY rank LIMIT ${most}`,
		),
	});
	const firstFew = nextWaiting(FIRST_FEW);
	const further = nextWaiting(AT_ONCE);

	/** Stored jobs that have not lapsed, by rank, after `rank`. */
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

	function* waiting(lane: Lane, now: number, rank: number): Generator<Row> {
		// R3: a copy, because the cache may write rows during a claim. Those may be yielded twice.
		const fresh = [...lane.queue.unwritten[lane.low].keys()];
		if (!queues.allNew(lane.queue)) yield* written(lane, now, rank);
		for (const seq of fresh) {
			const row = records.at(seq);
			if (row.job.state === WAITING && row.rank > rank && row.job.dueAt > now) yield row;
		}
	}

	/** Whether a job waits in the part of the lane that is known to be fenced. */
	function waitsUpTo(lane: Lane, rank: number, now: number): boolean {
		for (const first of waiting(lane, now, FIRST)) return first.rank <= rank;
		return false;
	}

	/** Offers the waiting jobs of a lane to a claim. False when no more jobs fit. */
	function walk(lane: Lane, claim: PendingClaim<Row, Input>): boolean {
		if (claim.full) return false;
		const { worker, now, without = [] } = claim.q;
		let passedOver = false;
		const fencing = attempts.anyOpen(worker);
		const parts = {
			transitions,
			isFenced: (row: Row) => fencing && row.job.attempt > 0 && attempts.isOpen(row, worker),
			inputs,
		};
		const walked = fencing ? fence.walked(lane) : FIRST;
		if (walked > FIRST && waitsUpTo(lane, walked, now)) claim.fenced = true;
		let fencedTo = walked;
		try {
			for (const row of waiting(lane, now, walked)) {
				if (claim.full) return false;
				if (without.length > 0 && without.includes(payloads.inputFile(row) ?? 0)) {
					claim.fenced = passedOver = true;
					continue;
				}
				const outcome = offer(parts, claim, row);
				if (outcome === "full") return false;
				// Jobs that were skipped may still be claimed later, by this worker too.
				if (outcome === "fenced" && !passedOver) fencedTo = row.rank;
			}
			return true;
		} finally {
			if (fencedTo > walked) fence.remember(lane, fencedTo);
		}
	}

	return (q) => {
		const claim = pendingClaim<Row, Input>(q);
		const { worker } = q;
		due.freshen(q.now);
		const queue = queues.find(q.endpoint);
		if (queue && queue.counts.inQueue > 0) {
			const more = walk({ worker, queue, low: 0 }, claim);
			if (more && queue.lowInQueue > 0) walk({ worker, queue, low: 1 }, claim);
		}
		return {
			jobs: claim.jobs.map(({ row: { job }, input }) =>
				hasDamage(input) ? { job, input: undefined, ...input } : { job, input },
			),
			fenced: claim.fenced,
		};
	};
}
