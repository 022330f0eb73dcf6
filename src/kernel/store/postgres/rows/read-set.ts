/** Combines the declared reads of a transaction's operations into one round trip. */
import type { FollowUp, Reads } from "../../operations/operation.ts";
import type { JobKey, KeyPlace, WorkerKey } from "../../operations/unit-of-work.ts";
import { rowsOf } from "../connection/arrays.ts";
import { COLUMNS, type Records } from "./job-records.ts";
import { KEYS, type Row } from "./row.ts";
import type { UnitOfWork } from "./unit-of-work.ts";
import { statement } from "../connection/statement.ts";
import { RUNNING } from "../../row.ts";

interface ReadSet {
	endpoints: Set<string>;
	jobs: JobKey[];
	workers: WorkerKey[];
	keys: KeyPlace[];
	/** The latest time of any operation, ms since the epoch. */
	now: number;
}

export function emptyReadSet(): ReadSet {
	return { endpoints: new Set(), jobs: [], workers: [], keys: [], now: Number.MIN_SAFE_INTEGER };
}

export function addReads(
	set: ReadSet,
	{ jobs = [], workers = [], keys = [], endpoints = [] }: Reads,
	now: number | undefined,
): void {
	set.jobs.push(...jobs);
	set.workers.push(...workers);
	set.keys.push(...keys);
	for (const endpoint of endpoints) set.endpoints.add(endpoint);
	for (const row of [...jobs, ...workers, ...keys]) set.endpoints.add(row.endpoint);
	if (now !== undefined) set.now = Math.max(set.now, now);
}

const WORKERS = rowsOf<WorkerKey>({ endpoint: "text", worker: "text" }, 3);

/**
 * Rows by id, those that workers run, and those whose old attempts they may run. Fixed lock order: prevents deadlocks.
 */
const ROWS = statement(`
  SELECT ${COLUMNS} FROM (
    ${KEYS.select}
    UNION SELECT given.endpoint, running.id FROM (${WORKERS.select}) AS given
      JOIN jobs AS running ON running.endpoint = given.endpoint AND running.worker = given.worker
        AND running.state = '${RUNNING}'
    UNION SELECT given.endpoint, old.job FROM (${WORKERS.select}) AS given
      JOIN attempts AS old ON old.endpoint = given.endpoint AND old.worker = given.worker AND old.open = 1
  ) AS wanted
  JOIN jobs ON jobs.endpoint = wanted.endpoint AND jobs.id = wanted.id
  ORDER BY jobs.endpoint, jobs.id FOR UPDATE OF jobs`);

export async function loadRows(records: Records, { jobs, workers }: ReadSet): Promise<void> {
	if (workers.length === 0) return await records.load(jobs);
	await records.query(ROWS, [...KEYS.values(records.expect(jobs)), ...WORKERS.values(workers)]);
}

export async function loadFollowUp(
	{ records, payloads, chunks, queues, due }: UnitOfWork,
	{ jobs, result, lastChunks, range, waiting }: FollowUp<Row>,
): Promise<void> {
	if (jobs) await records.load(jobs);
	if (result) await payloads.loadResult(result);
	if (lastChunks) await chunks.loadLast(lastChunks.row, lastChunks.count);
	if (range) await chunks.loadRange(range);
	if (!waiting) return;
	const queue = queues.of(waiting.endpoint);
	while (queue.counts.inQueue > waiting.most && queue.due) await due.freshen(queue, waiting.now);
}
