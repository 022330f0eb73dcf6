/** A page scans row numbers downwards along one or more indexes, projects each row to now, and takes those that fit. */
import { isFinal } from "../../../core/jobs/job-states.ts";
import { MOST_READ, PREVIEW_CHARACTERS } from "../../../core/jobs/job-search.ts";
import type { JobPage, ListedJob } from "../../contract/jobs.ts";
import { cursorOf, numberOf } from "../../cursor.ts";
import { fits, MOST_CHARACTERS } from "../../operations/list.ts";
import type { Answer } from "../../operations/operation.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { LAST, type Queue, type Row } from "../rows/row.ts";
import { RUNNING, WAITING } from "../../row.ts";
import type { Value } from "../file/database.ts";
import { fitting, ListIndex, type ListQuery } from "./list-index.ts";

interface Walk {
	index: ListIndex;
	key: Value[];
}

export function openList({
	queues,
	records,
	due,
	live,
	views,
	payloads,
}: UnitOfWork): (q: ListQuery) => Answer<"jobs.list"> {
	const all = new ListIndex(records, "jobs_listed", "queue = ?");
	const ended = new ListIndex(
		records,
		"jobs_listed_ended",
		`queue = ? AND state = ? AND state NOT IN ('${WAITING}', '${RUNNING}')`,
	);

	function walksOf({ filter: { states } }: ListQuery, queue: Queue): Walk[] {
		return states?.every(isFinal)
			? [...new Set(states)].map((state) => ({ index: ended, key: [queue.number, state] }))
			: [{ index: all, key: [queue.number] }];
	}

	function floorOf(walks: readonly Walk[], q: ListQuery, from: number): number {
		return Math.max(0, ...walks.map(({ index, key }) => index.floor(key, q, from)));
	}

	/** Counts among the jobs that a page without a search reads from the newest on. */
	function matching(q: ListQuery, queue: Queue): { count: number; more: boolean } {
		const { states, worker, from, to } = q.filter;
		if (states?.every((state) => !isFinal(state)) && (worker ?? from ?? to) === undefined) {
			const counts = { [WAITING]: queue.counts.inQueue, [RUNNING]: queue.counts.inProgress };
			const count = [...new Set(states)].reduce((sum, state) => sum + counts[state as "IN_QUEUE"], 0);
			return { count, more: false };
		}
		const read = { ...q, search: undefined };
		const walks = walksOf(read, queue);
		const floor = floorOf(walks, read, LAST);
		const values = fitting(read, queue);
		const count = walks.reduce((sum, { index, key }) => sum + index.count(key, floor, values), 0);
		return { count, more: floor > 0 };
	}

	/** Yields row numbers that may match, descending; all that match down to `floor` are among them. */
	function candidates(q: ListQuery, queue: Queue, from: number): { numbers: Iterable<number>; floor: number } {
		const { states } = q.filter;
		const { inQueue, inProgress } = queue.counts;
		const searching = q.search !== undefined;
		const isLive = states?.every((state) => !isFinal(state)) && inQueue + inProgress <= MOST_READ;
		if (isLive && !searching) {
			return { numbers: downwards(live.some(queue, MOST_READ), { from, floor: 0 }), floor: 0 };
		}
		const walks = walksOf(q, queue);
		const floor = floorOf(walks, q, from);
		const numbers: Iterable<number>[] = walks.map(({ index, key }) => index.walk(key, { q, queue, from, floor }));
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

	/** Adds the beginning of the input if the query wants it, or if the search depends on it. */
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
