import { LARGE_BYTES } from "../../../lib/json/json-text.ts";
import { JOB_STATES } from "../../../core/jobs/job-states.ts";
import { MOST_READ, MOST_SEARCHED, MOST_SEARCHED_BYTES, searchable } from "../../../core/jobs/job-search.ts";
import { searchableSql, STRIDE } from "../../operations/list.ts";
import type { Query } from "../../operations/operation.ts";
import { WAITING } from "../../row.ts";
import type { Value } from "../file/database.ts";
import type { Records } from "../rows/job-records.ts";
import { LAST, type Queue } from "../rows/row.ts";

/** Jobs with passed deadlines are read in any state. */
const FITS = `submitted_at >= ? AND submitted_at < ? AND (erased = 0 OR ?)
  AND NOT (state = '${WAITING}' AND rank BETWEEN ? AND ?)
  AND (instr(?, state) > 0 AND (? IS NULL OR worker = ?) OR ended_at IS NULL AND due_at <= ?)`;

/** An input in a payload file may match: its beginning is read later. */
const FOUND = `(instr(id, ?) > 0 OR instr(lower(worker), ?) > 0
  OR EXISTS (SELECT 1 FROM results WHERE results.seq = jobs.seq
    AND instr(${searchableSql("error")}, ?) > 0)
  OR EXISTS (SELECT 1 FROM inputs WHERE inputs.seq = jobs.seq
    AND (typeof(input) <> 'text' OR instr(${searchableSql("input")}, ?) > 0)))`;

export type ListQuery = Query<"jobs.list">;

interface Page {
	q: ListQuery;
	queue: Queue;
	from: number;
	floor: number;
}

export function fitting({ filter, erased, now }: ListQuery, { purged }: Queue): Value[] {
	const { states = JOB_STATES, worker = null, from = 0, to = LAST } = filter;
	const text = states.join();
	return [from, to, Number(erased), purged.from, purged.to, text, worker, worker, now];
}

/** Reads one index. Values of statements are those of `key`, then of the rows, then of the filter. */
export class ListIndex {
	readonly #fitting;
	readonly #found;
	readonly #count;
	readonly #slice;
	readonly #floor;

	/** The index is named because the planner would guess. */
	constructor(records: Records, index: string, key: string) {
		const from = `FROM jobs INDEXED BY ${index} WHERE ${key} AND seq < ?`;
		const fits = `${from} AND seq >= ? AND ${FITS}`;
		this.#fitting = records.prepare(`SELECT seq ${fits} ORDER BY seq DESC LIMIT ${STRIDE}`);
		this.#found = records.prepare(`SELECT seq ${fits} AND ${FOUND} ORDER BY seq DESC LIMIT ${STRIDE}`);
		this.#count = records.prepare(`SELECT count(*) ${fits}`);
		// Reads the last row number, the number of rows, and the bytes of inputs in rows.
		this.#slice = records.prepare(
			`SELECT min(seq), count(*), sum(min(input_bytes, ${LARGE_BYTES}))
				FROM (SELECT seq, input_bytes ${from} ORDER BY seq DESC LIMIT ${STRIDE})`,
		);
		this.#floor = records.prepare(`SELECT seq ${from} ORDER BY seq DESC LIMIT 1 OFFSET ${MOST_READ - 1}`);
	}

	/** Yields row numbers that may match, or those that a search finds. */
	*walk(key: Value[], { q, queue, from, floor }: Page): Generator<number> {
		const values = fitting(q, queue);
		const statement = q.search === undefined ? this.#fitting : this.#found;
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

	count(key: Value[], floor: number, values: Value[]): number {
		return Number(this.#count.get(...key, LAST, floor, ...values)?.[0]);
	}

	/** Returns the row number down to which a page reads; 0: all. */
	floor(key: Value[], q: ListQuery, from: number): number {
		if (q.search === undefined) return Number(this.#floor.get(...key, from)?.[0] ?? 0);
		for (let at = from, rows = 0, bytes = 0; ; ) {
			const [last, count, size] = this.#slice.get(...key, at)!.map(Number) as [number, number, number];
			if (count < STRIDE) return 0;
			[at, rows, bytes] = [last, rows + count, bytes + size];
			if (rows >= MOST_SEARCHED || bytes >= MOST_SEARCHED_BYTES) return at;
		}
	}
}
