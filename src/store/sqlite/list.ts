/**
 * Lists of jobs, newest first. A page scans row numbers downwards along one or more indexes,
 * projects each row to now, and takes those that fit.
 */
import { isFinal, JOB_STATES } from "../../core/job-states.ts";
import type { JobResult } from "../../core/job-view.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { fits, MOST_CHARACTERS, MOST_READ, STRIDE } from "../operations/list.ts";
import type { Answer, Query } from "../operations/operation.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { LAST } from "./rows/row.ts";
import type { Queue } from "./rows/row.ts";
import { RUNNING, WAITING } from "../states.ts";

/** The filter in SQL. Jobs with passed deadlines are read in any state. */
const FITS = `submitted_at >= ? AND submitted_at < ? AND (erased = 0 OR ?)
  AND NOT (state = '${WAITING}' AND rank BETWEEN ? AND ?)
  AND (instr(?, state) > 0 AND (? IS NULL OR worker = ?) OR ended_at IS NULL AND due_at <= ?)`;

type ListQuery = Query<"jobs.list">;

/** Row numbers that a page reads: below `from`, down to `floor`. */
interface Page {
	q: ListQuery;
	queue: Queue;
	from: number;
	floor: number;
}

/** The `list` of the contract. */
export function openList({
	queues,
	records,
	due,
	live,
	views,
}: UnitOfWork): (q: ListQuery) => Answer<"jobs.list"> {
	/**
	 * Statements over one index, named because the planner would guess: rows that may fit between two
	 * numbers, and the number down to which a page reads.
	 */
	function over(index: string, key: string) {
		return {
			fitting: records.prepare(
				`SELECT seq FROM jobs INDEXED BY ${index} WHERE ${key} AND seq < ? AND seq >= ? AND ${FITS}
					ORDER BY seq DESC LIMIT ${STRIDE}`,
			),
			floor: records.prepare(
				`SELECT seq FROM jobs INDEXED BY ${index} WHERE ${key} AND seq < ?
					ORDER BY seq DESC LIMIT 1 OFFSET ${MOST_READ - 1}`,
			),
		};
	}
	const all = over("jobs_listed", "queue = ?");
	const ended = over(
		"jobs_listed_ended",
		`queue = ? AND state = ? AND state NOT IN ('${WAITING}', '${RUNNING}')`,
	);

	function* walk(
		{ fitting }: typeof all,
		key: (string | number)[],
		{ q, queue, from, floor }: Page,
	): Generator<number> {
		const { states = JOB_STATES, worker = null, from: since = 0, to = LAST } = q.filter;
		for (let at = from; ; ) {
			const found = fitting.all(
				...key,
				at,
				floor,
				since,
				to,
				Number(q.erased),
				queue.purged.from,
				queue.purged.to,
				states.join(),
				worker,
				worker,
				q.now,
			);
			for (const [seq] of found) {
				at = Number(seq);
				yield at;
			}
			if (found.length < STRIDE) return;
		}
	}

	/** Row numbers that may fit, descending; includes all that fit down to `floor`. */
	function candidates(
		q: ListQuery,
		queue: Queue,
		from: number,
	): { numbers: Iterable<number>; floor: number } {
		const { states } = q.filter;
		const { inQueue, inProgress } = queue.counts;
		if (states?.every((state) => !isFinal(state)) && inQueue + inProgress <= MOST_READ) {
			return { numbers: downwards(live.some(queue, MOST_READ), { from, floor: 0 }), floor: 0 };
		}
		const final = states?.every(isFinal);
		const walks = final
			? [...new Set(states)].map((state) => ({ index: ended, key: [queue.number, state] }))
			: [{ index: all, key: [queue.number] }];
		const floor = Math.max(
			0,
			...walks.map(({ index, key }) => Number(index.floor.get(...key, from)?.[0] ?? 0)),
		);
		const numbers: Iterable<number>[] = walks.map(({ index, key }) =>
			walk(index, key, { q, queue, from, floor }),
		);
		// Jobs with passed but unsettled deadlines are in no index of ended jobs.
		if (final)
			numbers.push(
				downwards(
					due.unsettled(queue, q.now).map(({ row }) => row.seq),
					{ from, floor },
				),
			);
		return { numbers: merge(numbers), floor };
	}

	return (q) => {
		const from = numberOf(q.cursor) ?? LAST;
		due.freshen(q.now);
		const queue = queues.find(q.endpoint);
		const jobs: JobResult[] = [];
		if (!queue) return { jobs };
		const { numbers, floor } = candidates(q, queue, from);
		let last = from;
		let characters = 0;
		for (const seq of numbers) {
			const listed = views.listed(records.at(seq), q.now);
			if (!listed || !fits(listed, q)) continue;
			if (jobs.length === q.limit || characters >= MOST_CHARACTERS)
				return { jobs, next: cursorOf(last) };
			jobs.push(listed);
			characters += listed.error?.length ?? 0;
			last = seq;
		}
		return floor > 0 ? { jobs, next: cursorOf(floor) } : { jobs };
	};
}

function downwards(
	numbers: readonly number[],
	{ from, floor }: { from: number; floor: number },
): number[] {
	return numbers.filter((number) => number < from && number >= floor).toSorted((a, b) => b - a);
}

/** Merges descending sequences. */
function* merge(sequences: readonly Iterable<number>[]): Generator<number> {
	const walks = sequences.map((sequence) => sequence[Symbol.iterator]());
	const heads = walks.map((walk) => walk.next());
	for (;;) {
		let highest = -1;
		heads.forEach(({ done, value }, n) => {
			if (done !== true && (highest < 0 || value > (heads[highest]?.value as number))) highest = n;
		});
		const head = heads[highest];
		const walk = walks[highest];
		if (!head || !walk) return;
		yield head.value as number;
		heads[highest] = walk.next();
	}
}
