/**
 * Lists of jobs, newest first. A page scans row numbers downwards along one or more indexes,
 * projects each row to now, and takes those that fit.
 */
import { isFinal, JOB_STATES } from "../../core/job-states.ts";
import {
	MOST_READ,
	PREVIEW_CHARACTERS,
	MOST_SEARCHED,
	MOST_SEARCHED_BYTES,
	searchable,
} from "../../core/job-search.ts";
import type { JobPage, ListedJob } from "../contract/jobs.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { fits, MOST_CHARACTERS, STRIDE } from "../operations/list.ts";
import type { Answer, Query } from "../operations/operation.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { LAST, type Queue, type Row } from "./rows/row.ts";
import { RUNNING, WAITING } from "../states.ts";
import type { Value } from "./database.ts";
import { listStatements, type ListStatements } from "./list-statements.ts";

type ListQuery = Query<"jobs.list">;

/** Row numbers that a page reads: below `from`, down to `floor`. */
interface Page {
	q: ListQuery;
	queue: Queue;
	from: number;
	floor: number;
}

/** Row numbers of an index, by the first members of its key. */
interface Walk {
	index: ListStatements;
	key: (string | number)[];
}

/** The `list` of the contract. */
export function openList({
	queues,
	records,
	due,
	live,
	views,
	payloads,
}: UnitOfWork): (q: ListQuery) => Answer<"jobs.list"> {
	const { all, ended } = listStatements(records);

	/** Values of the filter. */
	function fitting({ filter, erased, now }: ListQuery, { purged }: Queue): Value[] {
		const { states = JOB_STATES, worker = null, from = 0, to = LAST } = filter;
		const text = states.join();
		return [from, to, Number(erased), purged.from, purged.to, text, worker, worker, now];
	}

	function* walk({ index, key }: Walk, { q, queue, from, floor }: Page): Generator<number> {
		const values = fitting(q, queue);
		const statement = q.search === undefined ? index.fitting : index.found;
		if (q.search !== undefined) values.push(...Array.from({ length: 4 }, () => searchable(q.search!)));
		for (let at = from; ; ) {
			const found = statement.all(...key, at, floor, ...values);
			for (const [seq] of found) {
				at = Number(seq);
				yield at;
			}
			if (found.length < STRIDE) return;
		}
	}

	/** The walks over the indexes of a filter. */
	function walksOf({ filter: { states } }: ListQuery, queue: Queue): Walk[] {
		return states?.every(isFinal)
			? [...new Set(states)].map((state) => ({ index: ended, key: [queue.number, state] }))
			: [{ index: all, key: [queue.number] }];
	}

	/** The number down to which a page reads; 0: all. */
	function floorOf({ index, key }: Walk, q: ListQuery, from: number): number {
		if (q.search === undefined) return Number(index.floor.get(...key, from)?.[0] ?? 0);
		for (let at = from, rows = 0, bytes = 0; ; ) {
			const [last, count, size] = index.slice.get(...key, at)!.map(Number) as [number, number, number];
			if (count < STRIDE) return 0;
			[at, rows, bytes] = [last, rows + count, bytes + size];
			if (rows >= MOST_SEARCHED || bytes >= MOST_SEARCHED_BYTES) return at;
		}
	}

	/** Jobs that match, of those that a page without a search reads from the newest on. */
	function matching(q: ListQuery, queue: Queue): { count: number; more: boolean } {
		const { states, worker, from, to } = q.filter;
		if (states?.every((state) => !isFinal(state)) && (worker ?? from ?? to) === undefined) {
			const counts = { [WAITING]: queue.counts.inQueue, [RUNNING]: queue.counts.inProgress };
			const count = [...new Set(states)].reduce((sum, state) => sum + counts[state as "IN_QUEUE"], 0);
			return { count, more: false };
		}
		const read = { ...q, search: undefined };
		const walks = walksOf(read, queue);
		const floor = Math.max(0, ...walks.map((each) => floorOf(each, read, LAST)));
		const values = fitting(read, queue);
		const count = walks.reduce(
			(sum, { index, key }) => sum + Number(index.count.get(...key, LAST, floor, ...values)?.[0]),
			0,
		);
		return { count, more: floor > 0 };
	}

	/** Row numbers that may fit, descending; includes all that fit down to `floor`. */
	function candidates(q: ListQuery, queue: Queue, from: number): { numbers: Iterable<number>; floor: number } {
		const { states } = q.filter;
		const { inQueue, inProgress } = queue.counts;
		const searching = q.search !== undefined;
		const isLive = states?.every((state) => !isFinal(state)) && inQueue + inProgress <= MOST_READ;
		if (isLive && !searching) {
			return { numbers: downwards(live.some(queue, MOST_READ), { from, floor: 0 }), floor: 0 };
		}
		const walks = walksOf(q, queue);
		const floor = Math.max(0, ...walks.map((each) => floorOf(each, q, from)));
		const numbers: Iterable<number>[] = walks.map((each) => walk(each, { q, queue, from, floor }));
		// Jobs with passed but unsettled deadlines are in no index of ended jobs.
		if (states?.every(isFinal) && !searching)
			numbers.push(
				downwards(
					due.unsettled(queue, q.now).map(({ row }) => row.seq),
					{ from, floor },
				),
			);
		return { numbers: merge(numbers), floor };
	}

	/** With the beginning of its input, if that was asked for or decides whether it is found. */
	function withHead(listed: ListedJob, row: Row, { heads, search }: ListQuery): ListedJob {
		if ((!heads && search === undefined) || listed.job.erased) return listed;
		const inputHead = payloads.inputHead(row, PREVIEW_CHARACTERS);
		return heads || typeof inputHead !== "string" ? { ...listed, inputHead } : listed;
	}

	return (q) => {
		const from = numberOf(q.cursor) ?? LAST;
		due.freshen(q.now);
		const queue = queues.find(q.endpoint);
		const jobs: ListedJob[] = [];
		if (!queue) return q.count ? { jobs, matching: { count: 0, more: false } } : { jobs };
		const counted = q.count ? { matching: matching(q, queue) } : {};
		const { numbers, floor } = candidates(q, queue, from);
		const endAt = (seq: number): JobPage => ({
			jobs,
			next: cursorOf(seq),
			...(q.search === undefined ? {} : { searchedTo: records.at(seq).job.submittedAt }),
			...counted,
		});
		let last = from;
		let characters = 0;
		for (const seq of numbers) {
			const row = records.at(seq);
			const listed = views.listed(row, q.now);
			if (!listed || !fits(listed, q)) continue;
			if (jobs.length === q.limit || characters >= MOST_CHARACTERS) return endAt(last);
			jobs.push(withHead(listed, row, q));
			characters += listed.error?.length ?? 0;
			last = seq;
		}
		return floor > 0 ? endAt(floor) : { jobs, ...counted };
	};
}

function downwards(numbers: readonly number[], { from, floor }: { from: number; floor: number }): number[] {
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
