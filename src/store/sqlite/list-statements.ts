/** Statements of lists of jobs: rows of an index that match a filter, and how far a page reads. */
import { LARGE_BYTES } from "../../core/json/json-text.ts";
import { MOST_READ } from "../../core/job-search.ts";
import { searchableSql, STRIDE } from "../operations/list.ts";
import { RUNNING, WAITING } from "../states.ts";
import type { Statement } from "./database.ts";
import type { Records } from "./rows/job-records.ts";

/** The filter in SQL. Jobs with passed deadlines are read in any state. */
const FITS = `submitted_at >= ? AND submitted_at < ? AND (erased = 0 OR ?)
  AND NOT (state = '${WAITING}' AND rank BETWEEN ? AND ?)
  AND (instr(?, state) > 0 AND (? IS NULL OR worker = ?) OR ended_at IS NULL AND due_at <= ?)`;

/**
 * What a search finds, in SQL. An input in a payload file may match: who has the file reads its
 * beginning.
 */
const FOUND = `(instr(id, ?) > 0 OR instr(lower(worker), ?) > 0
  OR EXISTS (SELECT 1 FROM results WHERE results.seq = jobs.seq
    AND instr(${searchableSql("error")}, ?) > 0)
  OR EXISTS (SELECT 1 FROM inputs WHERE inputs.seq = jobs.seq
    AND (typeof(input) <> 'text' OR instr(${searchableSql("input")}, ?) > 0)))`;

type Reading = Pick<Statement, "get" | "all">;

/** Over one index: the values of its key come first, then those of the rows, then of the filter. */
export interface ListStatements {
	/** Rows that may fit, below a number and down to one. */
	fitting: Reading;
	/** Those that a search finds, too. */
	found: Reading;
	/** How many fit. */
	count: Reading;
	/** The next rows: the last number, how many they are, and bytes of inputs that are in rows. */
	slice: Reading;
	/** The number down to which a page reads. */
	floor: Reading;
}

/** The indexes are named because the planner would guess. */
export function listStatements({ prepare }: Pick<Records, "prepare">): {
	/** All jobs of a queue. */
	all: ListStatements;
	/** Its ended jobs of one state. */
	ended: ListStatements;
} {
	function over(index: string, key: string): ListStatements {
		const from = `FROM jobs INDEXED BY ${index} WHERE ${key} AND seq < ?`;
		const fitting = `${from} AND seq >= ? AND ${FITS}`;
		return {
			fitting: prepare(`SELECT seq ${fitting} ORDER BY seq DESC LIMIT ${STRIDE}`),
			found: prepare(`SELECT seq ${fitting} AND ${FOUND} ORDER BY seq DESC LIMIT ${STRIDE}`),
			count: prepare(`SELECT count(*) ${fitting}`),
			slice: prepare(
				`SELECT min(seq), count(*), sum(min(input_bytes, ${LARGE_BYTES}))
					FROM (SELECT seq, input_bytes ${from} ORDER BY seq DESC LIMIT ${STRIDE})`,
			),
			floor: prepare(`SELECT seq ${from} ORDER BY seq DESC LIMIT 1 OFFSET ${MOST_READ - 1}`),
		};
	}
	return {
		all: over("jobs_listed", "queue = ?"),
		ended: over("jobs_listed_ended", `queue = ? AND state = ? AND state NOT IN ('${WAITING}', '${RUNNING}')`),
	};
}
