/**
 * Job lists, newest first. A page reads index ranges downwards, projects each row to now and keeps
 * those that match; it ends early after {@link MOST_READ} rows.
 */
import { isFinal } from "../../core/job-states.ts";
import type { JobResult } from "../../core/job-view.ts";
import { wrongCursor } from "../cursor.ts";
import { fits, MOST_CHARACTERS, MOST_READ, STRIDE } from "../operations/list.ts";
import type { Answer, Query } from "../operations/operation.ts";
import { RUNNING, WAITING } from "../states.ts";
import type { Database } from "./connection/database.ts";
import { VIEWS, readModelColumns, readModelFrom } from "./rows/read-model.ts";
import type { ReadModelRow } from "./rows/read-model.ts";
import { statement } from "./connection/statement.ts";
import type { Statement } from "./connection/statement.ts";
import type { Sweeps } from "./sweeps.ts";

type ListQuery = Query<"jobs.list">;

const SHOWN = readModelColumns({ input: "NULL", output: "NULL" });

interface Place {
	number: number;
	id: string;
}

const LAST: Place = { number: Number.MAX_SAFE_INTEGER, id: "" };

const QUEUE_AND_ORDER = `LEFT JOIN queues ON queues.endpoint = jobs.endpoint
  ORDER BY jobs.number DESC, jobs.id DESC`;
const RUNNING_JOBS = `SELECT * FROM jobs
  WHERE endpoint = $1 AND state = '${RUNNING}' AND (number, id) < ($2, $3)`;

/** An index range below a place. */
function over(where: string): Statement {
	return statement(`
    SELECT ${SHOWN} FROM (
      SELECT * FROM jobs WHERE endpoint = $1 AND ${where} AND (number, id) < ($2, $3)
      ORDER BY number DESC, id DESC LIMIT $4
    ) AS jobs ${QUEUE_AND_ORDER}`);
}

/** All jobs; ended ones of one state; waiting and running ones; running ones. */
const ALL = over("number > 0");
const ENDED = over(`state = $5 AND state NOT IN ('${WAITING}', '${RUNNING}')`);
const LIVE = statement(`
  SELECT ${SHOWN} FROM (
    (${RUNNING_JOBS})
    UNION ALL (
      SELECT * FROM jobs WHERE endpoint = $1 AND low_priority IN (false, true)
        AND state = '${WAITING}' AND (number, id) < ($2, $3)
    )
  ) AS jobs ${QUEUE_AND_ORDER} LIMIT $4`);
const AT_WORK = statement(
	`SELECT ${SHOWN} FROM (${RUNNING_JOBS}) AS jobs ${QUEUE_AND_ORDER} LIMIT $4`,
);
const LIVE_COUNT = statement(
	"SELECT sum(in_queue + in_progress)::int8 FROM queue_counts WHERE endpoint = $1",
);

const FORM = /^n([1-9]\d{0,15})~([!-~]{1,200})$/;

function cursorOf({ number, id }: Place): string {
	return `n${number}~${id}`;
}

/** Throws a RangeError for an invalid cursor. */
function placeOf(cursor: string | undefined): Place {
	if (cursor === undefined) return LAST;
	const [, number, id] = FORM.exec(cursor) ?? [];
	if (number === undefined || id === undefined) throw wrongCursor();
	return { number: Number(number), id };
}

export function openList({
	database: { read },
	sweeps,
}: {
	database: Pick<Database, "read">;
	sweeps: Pick<Sweeps, "freshen">;
}): (q: ListQuery) => Promise<Answer<"jobs.list">> {
	/** Rows of one index downwards; `row` is undefined for a purged job. */
	async function* walk(
		asked: Statement,
		endpoint: string,
		from: Place,
		...more: string[]
	): AsyncGenerator<{ at: Place; row?: ReadModelRow }> {
		for (let at = from; ; ) {
			const { rows } = await read.run(asked, [endpoint, at.number, at.id, STRIDE, ...more]);
			for (const values of rows) {
				const row = readModelFrom(values);
				at = { number: Number(values[6]), id: String(values[5]) };
				yield row ? { at, row } : { at };
			}
			if (rows.length < STRIDE) return;
		}
	}

	/** The walks whose rows may match. */
	async function walks(
		{ endpoint, filter: { states } }: ListQuery,
		from: Place,
	): Promise<AsyncGenerator<{ at: Place; row?: ReadModelRow }>[]> {
		if (states?.every((state) => state === RUNNING)) return [walk(AT_WORK, endpoint, from)];
		if (states?.every((state) => !isFinal(state))) {
			const live = Number((await read.run(LIVE_COUNT, [endpoint])).rows[0]?.[0] ?? 0);
			if (live <= STRIDE) return [walk(LIVE, endpoint, from)];
		}
		if (states?.every(isFinal))
			return [...new Set(states)].map((state) => walk(ENDED, endpoint, from, state));
		return [walk(ALL, endpoint, from)];
	}

	return async (q) => {
		const from = placeOf(q.cursor);
		const jobs: JobResult[] = [];
		// Settles deadlines first, so that each job is in the index of its state.
		await sweeps.freshen(q);
		let last = from;
		let characters = 0;
		let count = 0;
		for await (const { at, row } of merge(await walks(q, from))) {
			if (count === MOST_READ) return { jobs, next: cursorOf(last) };
			count += 1;
			const listed = row && VIEWS.listed(row, q.now);
			if (listed && fits(listed, q)) {
				if (jobs.length === q.limit || characters >= MOST_CHARACTERS)
					return { jobs, next: cursorOf(last) };
				jobs.push(listed);
				characters += listed.error?.length ?? 0;
			}
			last = at;
		}
		return { jobs };
	};
}

/** Merges descending walks. */
async function* merge<T extends { at: Place }>(
	walks: readonly AsyncGenerator<T>[],
): AsyncGenerator<T> {
	const heads = await Promise.all(walks.map((walk) => walk.next()));
	for (;;) {
		let highest = -1;
		heads.forEach(({ done, value }, n) => {
			if (done === true) return;
			const best = heads[highest];
			if (!best || best.done === true || isAfter((value as T).at, best.value.at)) highest = n;
		});
		const head = heads[highest];
		const walk = walks[highest];
		if (!head || head.done === true || !walk) return;
		yield head.value;
		heads[highest] = await walk.next();
	}
}

function isAfter(a: Place, b: Place): boolean {
	return a.number > b.number || (a.number === b.number && a.id > b.id);
}
