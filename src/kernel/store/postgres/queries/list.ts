/**
 * A page reads index ranges downwards, projects each row to now and keeps those that match; it ends early after
 * {@link MOST_READ} rows.
 */
import { isFinal, JOB_STATES } from "../../../core/jobs/job-states.ts";
import {
	MOST_READ,
	PREVIEW_CHARACTERS,
	MOST_SEARCHED,
	MOST_SEARCHED_BYTES,
	SEARCHED_CHARACTERS,
	searchable,
} from "../../../core/jobs/job-search.ts";
import type { JobPage, ListedJob } from "../../contract/jobs.ts";
import { wrongCursor } from "../../cursor.ts";
import { fits, MOST_CHARACTERS, searchableSql, STRIDE } from "../../operations/list.ts";
import type { Answer, Query } from "../../operations/operation.ts";
import { RUNNING, WAITING } from "../../row.ts";
import type { Database } from "../connection/database.ts";
import { readModelColumns, readModelFrom, type ReadModelRow, VIEWS } from "../rows/read-model.ts";
import { statement, type Statement } from "../connection/statement.ts";
import type { Sweeps } from "./sweeps.ts";

type ListQuery = Query<"jobs.list">;

interface Place {
	number: number;
	id: string;
}

interface Read {
	at: Place;
	bytes: number;
	submittedAt: number | undefined;
	row: ReadModelRow | undefined;
}

const LAST: Place = { number: Number.MAX_SAFE_INTEGER, id: "" };

const QUEUE_AND_ORDER = `LEFT JOIN queues ON queues.endpoint = jobs.endpoint
  ORDER BY jobs.number DESC, jobs.id DESC`;
const RUNNING_JOBS = `SELECT * FROM jobs
  WHERE endpoint = $1 AND state = '${RUNNING}' AND (number, id) < ($2, $3)`;
const ENDED_STATE = `state = $5 AND state NOT IN ('${WAITING}', '${RUNNING}')`;

interface Form {
	input: string;
	found: (parameter: string) => string;
}
const PLAIN: Form = { input: "NULL", found: () => "true" };
const HEADS: Form = { ...PLAIN, input: `substr(jobs.input, 1, ${PREVIEW_CHARACTERS})` };
const SEARCHED: Form = {
	...HEADS,
	found: (parameter) =>
		`coalesce(${[
			"jobs.id",
			'lower(jobs.worker COLLATE "C")',
			searchableSql("jobs.error", ' COLLATE "C"'),
			searchableSql("jobs.input", ' COLLATE "C"'),
		]
			.map((text) => `strpos(${text}, ${parameter}::text) > 0`)
			.join(" OR ")}, false)`,
};

function columnsOf({ input, found }: Form, parameter = ""): string {
	return `${found(parameter)}, ${readModelColumns({ input, output: "NULL" })}`;
}

/** Returns the statement for an index range below a place; the values of a search follow the others. */
function over(where: string, columns: string): Statement {
	return statement(`
    SELECT ${columns} FROM (
      SELECT * FROM jobs WHERE endpoint = $1 AND ${where} AND (number, id) < ($2, $3)
      ORDER BY number DESC, id DESC LIMIT $4
    ) AS jobs ${QUEUE_AND_ORDER}`);
}

const running = (columns: string): Statement =>
	statement(`SELECT ${columns} FROM (${RUNNING_JOBS}) AS jobs ${QUEUE_AND_ORDER} LIMIT $4`);
const live = (columns: string): Statement =>
	statement(`
  SELECT ${columns} FROM (
    (${RUNNING_JOBS})
    UNION ALL (
      SELECT * FROM jobs WHERE endpoint = $1 AND low_priority IN (false, true)
        AND state = '${WAITING}' AND (number, id) < ($2, $3)
    )
  ) AS jobs ${QUEUE_AND_ORDER} LIMIT $4`);

const PLAIN_STATEMENTS = statementsOf(PLAIN);
const HEAD_STATEMENTS = statementsOf(HEADS);
const SEARCH_STATEMENTS = statementsOf(SEARCHED);

function statementsOf(form: Form): Record<"all" | "ended" | "running" | "live", Statement> {
	return {
		all: over("number > 0", columnsOf(form, "$5")),
		ended: over(ENDED_STATE, columnsOf(form, "$6")),
		running: running(columnsOf(form, "$5")),
		live: live(columnsOf(form, "$5")),
	};
}

const LIVE_COUNT = statement("SELECT sum(in_queue + in_progress)::int8 FROM queue_counts WHERE endpoint = $1");

/** Returns the statement that counts the newest rows, and how many of them match. */
function counting(where: string): Statement {
	return statement(`
    SELECT count(*), count(*) FILTER (WHERE submitted_at >= $3 AND submitted_at < $4
      AND (NOT erased OR $5::bool) AND strpos($6::text, state) > 0
      AND ($7::text IS NULL OR worker = $7::text)
      AND NOT (state = '${WAITING}' AND jobs.epoch < coalesce(queues.epoch, 0)))
    FROM (
      SELECT endpoint, submitted_at, erased, state, worker, epoch FROM jobs
      WHERE endpoint = $1 AND ${where} ORDER BY number DESC, id DESC LIMIT $2
    ) AS jobs LEFT JOIN queues ON queues.endpoint = jobs.endpoint`);
}
const COUNT_ALL = counting("number > 0");
const COUNT_ENDED = counting(ENDED_STATE.replace("$5", "$8"));

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

export function openList(
	{ read }: Pick<Database, "read">,
	sweeps: Pick<Sweeps, "freshen">,
): (q: ListQuery) => Promise<Answer<"jobs.list">> {
	/** Walks a range of rows. A step has no `row` if it was purged or does not match the search. */
	async function* walk(
		asked: Statement,
		{ endpoint }: ListQuery,
		from: Place,
		...more: string[]
	): AsyncGenerator<Read> {
		for (let at = from; ; ) {
			const { rows } = await read.run(asked, [endpoint, at.number, at.id, STRIDE, ...more]);
			for (const [found, ...values] of rows) {
				const row = readModelFrom(values);
				at = { number: Number(values[6]), id: String(values[5]) };
				const bytes = Math.min(row?.inputBytes ?? 0, SEARCHED_CHARACTERS);
				yield { at, bytes, submittedAt: row?.job.submittedAt, row: found ? row : undefined };
			}
			if (rows.length < STRIDE) return;
		}
	}

	async function walks(q: ListQuery, from: Place): Promise<AsyncGenerator<Read>[]> {
		const { states } = q.filter;
		const { search } = q;
		const needle = search === undefined ? [] : [searchable(search)];
		const statements = search !== undefined ? SEARCH_STATEMENTS : q.heads ? HEAD_STATEMENTS : PLAIN_STATEMENTS;
		if (states?.every((state) => state === RUNNING)) return [walk(statements.running, q, from, ...needle)];
		if (states?.every((state) => !isFinal(state)) && search === undefined) {
			const count = Number((await read.run(LIVE_COUNT, [q.endpoint])).rows[0]?.[0] ?? 0);
			if (count <= STRIDE) return [walk(statements.live, q, from)];
		}
		if (states?.every(isFinal))
			return [...new Set(states)].map((state) => walk(statements.ended, q, from, state, ...needle));
		return [walk(statements.all, q, from, ...needle)];
	}

	/** Counts among the jobs that a page without a search reads from the newest on. */
	async function matching({ endpoint, filter, erased }: ListQuery) {
		const { states = JOB_STATES, worker = null, from = 0, to = LAST.number } = filter;
		const values = [endpoint, MOST_READ, from, to, erased, states.join(), worker];
		const answers = await Promise.all(
			states.every(isFinal)
				? [...new Set(states)].map((state) => read.run(COUNT_ENDED, [...values, state]))
				: [read.run(COUNT_ALL, values)],
		);
		const counts = answers.map(({ rows }) => rows[0]!.map(Number));
		return {
			count: counts.reduce((sum, [, matched]) => sum + matched!, 0),
			more: counts.some(([all]) => all === MOST_READ),
		};
	}

	return async (q) => {
		const from = placeOf(q.cursor);
		const jobs: ListedJob[] = [];
		// Settles deadlines first: each job is then in the index of its state.
		await sweeps.freshen(q);
		const counted = q.count ? { matching: await matching(q) } : {};
		const searching = q.search !== undefined;
		let last = from;
		let searchedTo: number | undefined;
		let [characters, count, searched] = [0, 0, 0];
		const page = (): JobPage => ({
			jobs,
			next: cursorOf(last),
			...(searching && searchedTo !== undefined ? { searchedTo } : {}),
			...counted,
		});
		for await (const { at, bytes, submittedAt, row } of merge(await walks(q, from))) {
			if (count === (searching ? MOST_SEARCHED : MOST_READ)) return page();
			if (searching && searched >= MOST_SEARCHED_BYTES) return page();
			count += 1;
			searched += bytes;
			const listed = row && VIEWS.listed(row, q.now);
			if (listed && fits(listed, q)) {
				if (jobs.length === q.limit || characters >= MOST_CHARACTERS) return page();
				jobs.push(q.heads && !listed.job.erased ? { ...listed, inputHead: row.input } : listed);
				characters += listed.error?.length ?? 0;
			}
			last = at;
			searchedTo = submittedAt ?? searchedTo;
		}
		return { jobs, ...counted };
	};
}

async function* merge(walks: readonly AsyncGenerator<Read>[]): AsyncGenerator<Read> {
	const heads = await Promise.all(walks.map((walk) => walk.next()));
	for (;;) {
		let highest = -1;
		heads.forEach(({ done, value }, n) => {
			if (done === true) return;
			const best = heads[highest];
			if (!best || best.done === true || isAfter((value as Read).at, best.value.at)) highest = n;
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
