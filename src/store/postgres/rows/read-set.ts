/**
 * What each operation on jobs will look at, so that a transaction reads for all of its operations
 * at once. An operation may still ask for more.
 */
import type { OpName, Query } from "../../operations.ts";
import { texts } from "../connection/arrays.ts";
import type { KeyPlace } from "./idempotency.ts";
import { COLUMNS } from "./job-records.ts";
import type { Records } from "./job-records.ts";
import type { JobKey } from "./row.ts";
import { statement } from "../connection/statement.ts";
import { RUNNING } from "../../states.ts";

/** What operations will look at. */
export interface ReadSet {
	endpoints: Set<string>;
	jobs: JobKey[];
	/** Workers with all they run or may still run. */
	workers: { endpoint: string; worker: string }[];
	keys: KeyPlace[];
	/** The latest time that an operation names, ms since the epoch. */
	now: number;
}

const job = (wants: ReadSet, { endpoint, id }: JobKey): unknown =>
	wants.jobs.push({ endpoint, id });
const worker = (
	wants: ReadSet,
	{ endpoint, worker: id }: { endpoint: string; worker: string },
): unknown => wants.workers.push({ endpoint, worker: id });

const WANTS: { [N in OpName]?: (wants: ReadSet, q: Query<N>) => unknown } = {
	"jobs.insert": (wants, { submission, idempotency }) =>
		idempotency &&
		wants.keys.push({
			endpoint: submission.endpoint,
			operation: submission.operation,
			key: idempotency.key,
		}),
	"jobs.report": job,
	"jobs.progress": job,
	"jobs.move": job,
	"jobs.retain": job,
	"chunks.append": job,
	"chunks.reserve": job,
	"chunks.deliver": job,
	"workers.ping": worker,
	"workers.idle": worker,
	"workers.renew": worker,
};

export function emptyReadSet(): ReadSet {
	return { endpoints: new Set(), jobs: [], workers: [], keys: [], now: Number.MIN_SAFE_INTEGER };
}

/** Adds what an operation will look at. */
export function addReads<N extends OpName>(wants: ReadSet, name: N, q: Query<N>): void {
	const asked = q as { endpoint?: string; submission?: { endpoint: string }; now?: number };
	const endpoint = asked.endpoint ?? asked.submission?.endpoint;
	if (endpoint !== undefined) wants.endpoints.add(endpoint);
	wants.now = Math.max(wants.now, asked.now ?? wants.now);
	WANTS[name]?.(wants, q);
}

/**
 * Rows by their ids, those that workers run, and those of which they may run old attempts; in one
 * order everywhere, so that two transactions wait for each other only one way round.
 */
const ROWS = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT endpoint, id FROM unnest($1::text[], $2::text[]) AS given (endpoint, id)
    UNION SELECT given.endpoint, running.id FROM unnest($3::text[], $4::text[]) AS given (endpoint, worker)
      JOIN jobs AS running ON running.endpoint = given.endpoint AND running.worker = given.worker AND running.state = '${RUNNING}'
    UNION SELECT given.endpoint, old.job FROM unnest($3::text[], $4::text[]) AS given (endpoint, worker)
      JOIN attempts AS old ON old.endpoint = given.endpoint AND old.worker = given.worker AND old.open = 1
  ) AS wanted
  JOIN jobs ON jobs.endpoint = wanted.endpoint AND jobs.id = wanted.id
  ORDER BY jobs.endpoint, jobs.id FOR UPDATE OF jobs`);

/** Locks and reads the rows that were wanted. */
export async function loadRows(records: Records, { jobs, workers }: ReadSet): Promise<void> {
	if (workers.length === 0) return await records.load(jobs);
	const keys = records.expect(jobs);
	const names = [
		keys.map(({ endpoint }) => endpoint),
		keys.map(({ id }) => id),
		workers.map(({ endpoint }) => endpoint),
		workers.map((each) => each.worker),
	];
	await records.query(ROWS, names.map(texts));
}
