import { RUNNING, STOPPED, WAITING } from "../../row.ts";
import type { Answer, Query, Reads as OperationReads, SharedRead } from "../../operations/operation.ts";
import { OPERATIONS, type SharedReadName } from "../../operations/table.ts";
import type { JobKey } from "../../operations/unit-of-work.ts";
import type { JobStore } from "../../contract/jobs.ts";
import type { Database } from "../connection/database.ts";
import { keyOf, KEYS } from "../rows/row.ts";
import { readRange } from "../rows/chunk-rows.ts";
import { readModelColumns, readModelFrom, type ReadModelRow, readUnit } from "../rows/read-model.ts";
import { SMALL_INPUT, SMALL_OUTPUT } from "../rows/payloads.ts";
import { isStorable, type Runner, statement, type Statement } from "../connection/statement.ts";
import type { Sweeps } from "./sweeps.ts";

const ROW = "FROM jobs LEFT JOIN queues ON queues.endpoint = jobs.endpoint WHERE jobs.endpoint = $1 AND jobs.id = $2";
const resultsWith = (output: string): Statement =>
	statement(`
  SELECT ${readModelColumns({ input: "NULL", output })}
  FROM (${KEYS.select}) AS given
  JOIN jobs ON jobs.endpoint = given.endpoint AND jobs.id = given.id
  LEFT JOIN queues ON queues.endpoint = jobs.endpoint`);
const RESULTS = resultsWith("jobs.output");
const SMALL_RESULTS = resultsWith(SMALL_OUTPUT);
const RECORD = statement(`SELECT ${readModelColumns({ input: "jobs.input", output: "jobs.output" })} ${ROW}`);
const SMALL_RECORD = statement(`SELECT ${readModelColumns({ input: SMALL_INPUT, output: SMALL_OUTPUT })} ${ROW}`);
const BARE = statement(`SELECT ${readModelColumns({ input: "NULL", output: "NULL" })} ${ROW}`);

/** Per endpoint, to use the index of running jobs. */
const ALL_RUNNING = statement(`
  SELECT running.* FROM queues CROSS JOIN LATERAL (
    SELECT endpoint, id, worker, attempt, started_at FROM jobs WHERE jobs.endpoint = queues.endpoint
      AND state = '${RUNNING}'
  ) AS running`);
const UNSTOPPED = statement(`
  SELECT open.endpoint, open.job, open.worker FROM queues
  CROSS JOIN LATERAL (SELECT endpoint, job, worker, outcome FROM attempts
    WHERE attempts.endpoint = queues.endpoint AND open = 1 AND outcome = ANY ($1::text[])) AS open
  JOIN jobs ON jobs.endpoint = open.endpoint AND jobs.id = open.job
  WHERE NOT (jobs.state = '${WAITING}' AND jobs.epoch < queues.epoch)`);

const SUMS = statement(`
  SELECT sum(in_queue)::int8, sum(in_queue_low)::int8, sum(in_progress)::int8, sum(completed)::int8,
    sum(failed)::int8, sum(retried)::int8
  FROM queue_counts WHERE endpoint = $1`);
const ALL_SUMS = statement(`
  SELECT endpoint, sum(in_queue)::int8, sum(in_progress)::int8, sum(completed)::int8, sum(failed)::int8,
    sum(retried)::int8
  FROM queue_counts GROUP BY endpoint`);
const STORED = statement("SELECT endpoint, sum(stored_bytes)::int8 FROM queue_counts GROUP BY endpoint");
const ALL_DUE = statement(`
  SELECT endpoint FROM queues WHERE EXISTS (
    SELECT 1 FROM jobs WHERE jobs.endpoint = queues.endpoint AND ended_at IS NULL AND due_at <= $1
      AND NOT (state = '${WAITING}' AND jobs.epoch < queues.epoch)
  )`);
const ANY_DUE = statement(`
  SELECT EXISTS (
    SELECT 1 FROM jobs LEFT JOIN queues ON queues.endpoint = jobs.endpoint
    WHERE jobs.endpoint = $1 AND ended_at IS NULL AND due_at <= $2
      AND NOT (state = '${WAITING}' AND jobs.epoch < queues.epoch)
  )`);
/** Jobs at the back began to wait in rank order; of those at the front (rank below 0) the last began first. */
const ALL_OLDEST = `
  SELECT endpoint, least(
    (SELECT queued_at FROM jobs WHERE endpoint = queues.endpoint AND low_priority = false AND state = '${WAITING}'
      AND rank > queues.purged_to AND epoch = queues.epoch ORDER BY rank LIMIT 1),
    (SELECT queued_at FROM jobs WHERE endpoint = queues.endpoint AND low_priority = false AND state = '${WAITING}'
      AND rank < 0 AND epoch = queues.epoch ORDER BY rank DESC LIMIT 1))
  FROM queues`;
const OLDEST = statement(`${ALL_OLDEST} WHERE endpoint = $1`);
const OLDEST_OF_ALL = statement(ALL_OLDEST);

const MOST_ROWS = 128;

/** Requests of one event-loop turn share a query. */
function openResults(read: Runner, results: Statement): { row(key: JobKey): Promise<ReadModelRow | undefined> } {
	let asked: {
		key: JobKey;
		resolve: (row: ReadModelRow | undefined) => void;
		reject: (error: unknown) => void;
	}[] = [];

	async function ask(): Promise<void> {
		const mine = asked.splice(0, MOST_ROWS);
		if (asked.length > 0) void ask();
		try {
			const { rows } = await read.run(results, KEYS.values(mine.map(({ key }) => key)));
			const found = new Map(rows.map(readModelFrom).flatMap((row) => (row ? [[keyOf(row.job), row] as const] : [])));
			for (const { key, resolve } of mine) resolve(found.get(keyOf(key)));
		} catch (error) {
			for (const { reject } of mine) reject(error);
		}
	}

	return {
		row: (key) =>
			new Promise((resolve, reject) => {
				asked.push({ key, resolve, reject });
				if (asked.length === 1) setImmediate(() => void ask());
			}),
	};
}

export function openReads({ read }: Pick<Database, "read">, sweeps: Pick<Sweeps, "freshen">) {
	async function shown(asked: typeof RECORD, { endpoint, id }: JobKey): Promise<ReadModelRow | undefined> {
		const [values] = (await read.run(asked, [endpoint, id])).rows;
		return values && readModelFrom(values);
	}

	const results = openResults(read, RESULTS);
	const smallResults = openResults(read, SMALL_RESULTS);

	async function freshen({ endpoint, now }: { endpoint: string; now: number }): Promise<void> {
		const [found] = (await read.run(ANY_DUE, [endpoint, now])).rows;
		if (found?.[0] === true) await sweeps.freshen({ endpoint, now });
	}

	async function freshenAll(now: number): Promise<void> {
		for (const [endpoint] of (await read.run(ALL_DUE, [now])).rows)
			await sweeps.freshen({ endpoint: String(endpoint), now });
	}

	async function sums(endpoint: string): Promise<{ counts: Awaited<ReturnType<JobStore["counts"]>>; low: number }> {
		const [inQueue = 0, low = 0, inProgress = 0, completed = 0, failed = 0, retried = 0] = (
			(await read.run(SUMS, [endpoint])).rows[0] ?? []
		).map(Number);
		return { counts: { inQueue, inProgress, completed, failed, retried }, low };
	}

	/** Undefined for an id that the database cannot hold. */
	async function rowFor({ jobs = [], payloads }: OperationReads) {
		const [key] = jobs;
		if (!key || !isStorable(key.id)) return undefined;
		if (payloads === "output") return await results.row(key);
		if (payloads === "small") return await smallResults.row(key);
		if (payloads === "all small") return await shown(SMALL_RECORD, key);
		return await shown(payloads === "all" ? RECORD : BARE, key);
	}

	async function shared<N extends SharedReadName>(name: N, q: Query<N>): Promise<Answer<N>> {
		const operation = OPERATIONS[name] as unknown as SharedRead<N>;
		const row = await rowFor(operation.reads(q));
		const unit = readUnit(row);
		const range = operation.follow?.(unit, q)?.range;
		return operation.apply(range ? readUnit(row, await readRange(read.run, range.row.job, range)) : unit, q);
	}

	const own: Pick<JobStore, "running" | "unstopped" | "counts" | "allCounts" | "stored" | "oldestWaiting" | "waiting"> =
		{
			async running() {
				const { rows } = await read.run(ALL_RUNNING);
				return rows.map(([endpoint, id, worker, attempt, startedAt]) => ({
					endpoint: String(endpoint),
					id: String(id),
					worker: String(worker),
					attempt: Number(attempt),
					startedAt: Number(startedAt),
				}));
			},

			async unstopped() {
				const { rows } = await read.run(UNSTOPPED, [`{${STOPPED.join(",")}}`]);
				return rows.map(([endpoint, id, worker]) => ({
					endpoint: String(endpoint),
					id: String(id),
					worker: String(worker),
				}));
			},

			async counts(q) {
				await freshen(q);
				return (await sums(q.endpoint)).counts;
			},

			async allCounts({ now }) {
				await freshenAll(now);
				return (await read.run(ALL_SUMS)).rows.map(([endpoint, ...sums]) => {
					const [inQueue = 0, inProgress = 0, completed = 0, failed = 0, retried = 0] = sums.map(Number);
					return { endpoint: String(endpoint), counts: { inQueue, inProgress, completed, failed, retried } };
				});
			},

			async stored() {
				const { rows } = await read.run(STORED);
				return rows.map(([endpoint, bytes]) => ({ endpoint: String(endpoint), bytes: Number(bytes) }));
			},

			async oldestWaiting({ now }) {
				await freshenAll(now);
				return (await read.run(OLDEST_OF_ALL)).rows.flatMap(([endpoint, queuedAt]) =>
					queuedAt === null ? [] : [{ endpoint: String(endpoint), queuedAt: Number(queuedAt) }],
				);
			},

			async waiting(q) {
				await freshen(q);
				const { counts, low } = await sums(q.endpoint);
				const jobs = counts.inQueue - low;
				if (jobs <= 0) return { jobs: 0 };
				const oldest = (await read.run(OLDEST, [q.endpoint])).rows[0]?.[1] ?? null;
				return oldest === null ? { jobs } : { jobs, oldestQueuedAt: Number(oldest) };
			},
		};
	return { shared, own };
}
