/**
 * Every statement finds its rows by an index, so that millions of ended jobs cost those that live
 * nothing.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openBatches } from "../thread/batch.ts";
import { systemClock } from "../../../system/clock.ts";
import { type Database, openDatabase } from "../file/database.ts";
import { OP_NAMES } from "../../operations/table.ts";
import type { OpName } from "../../operations/operation.ts";
import { UnitOfWork } from "../rows/unit-of-work.ts";
import { prepareSchema } from "../file/schema.ts";
import { CODECS } from "../thread/codecs.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-plans-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ENDED = 100_000;
const WAITING = 20_000;

/**
 * A store with 100,000 ended jobs and some that wait; `prepared` are all statements that the
 * operations prepare, `executed` those that run.
 */
async function withEndedJobs(
	name: string,
	waiting = 0,
): Promise<{
	db: Database;
	op: (name: OpName, q: unknown) => unknown;
	prepared: string[];
	executed: string[];
}> {
	const file = openDatabase({ path: join(folder, name) });
	await prepareSchema(file);
	file.exec(`
    BEGIN;
    INSERT INTO queues (number, endpoint, completed, in_queue) VALUES (1, 'e', ${ENDED}, ${waiting});
    WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ${ENDED})
    INSERT INTO jobs (seq, id, queue, operation, low_priority, state, submitted_at, queued_at,
      started_at, ended_at, worker, ttl_ms, execution_timeout_ms, lease_ms, retain_ms, record_ms, due_at, rank)
    SELECT seq, 'job-' || seq, 1, 'run', 0, 'COMPLETED', seq, seq, seq, seq, 'w1',
      60000, 60000, 20000, 60000, 60000, 9000000 + seq, seq FROM n;
    WITH RECURSIVE n (seq) AS (SELECT ${ENDED + 1} WHERE ${waiting} > 0
      UNION ALL SELECT seq + 1 FROM n WHERE seq < ${ENDED + waiting})
    INSERT INTO jobs (seq, id, queue, operation, low_priority, state, submitted_at, queued_at,
      ttl_ms, execution_timeout_ms, lease_ms, retain_ms, record_ms, due_at, rank)
    SELECT seq, 'job-' || seq, 1, 'run', 0, 'IN_QUEUE', seq, seq,
      60000, 60000, 20000, 60000, 60000, 9000000 + seq, seq FROM n;
    INSERT INTO inputs (seq, input) SELECT seq, '{}' FROM jobs WHERE state = 'IN_QUEUE';
    COMMIT;
  `);
	const prepared: string[] = [];
	const executed: string[] = [];
	const db: Database = {
		...file,
		get inTransaction() {
			return file.inTransaction;
		},
		prepare(sql) {
			// On one line, so that the wrapping of a statement does not matter.
			prepared.push(sql.replaceAll(/\s+/g, " "));
			const statement = file.prepare(sql);
			const counted =
				<A extends unknown[], R>(call: (...values: A) => R) =>
				(...values: A): R => {
					executed.push(sql);
					return call(...values);
				};
			return {
				get: counted((...values) => statement.get(...values)),
				all: counted((...values) => statement.all(...values)),
				iterate: counted((...values) => statement.iterate(...values)),
				run: counted((...values) => statement.run(...values)),
			};
		},
	};
	const batch = openBatches(new UnitOfWork(db), systemClock);
	const op = (name: OpName, q: unknown): unknown => {
		const number = OP_NAMES.indexOf(name);
		const { answers, failures } = batch([number, CODECS[number]?.pack(q)]);
		expect(failures).toEqual([]);
		return answers[0];
	};
	return { db: file, op, prepared, executed };
}

it("no statement reads a whole table of jobs or their parts, or sorts", async () => {
	const { db, op, prepared } = await withEndedJobs("plans.db");
	for (const endpoint of [undefined, "e"])
		for (const job of [undefined, "job-1"])
			for (const state of [undefined, "pending", "delivered", "failed"])
				op("webhooks.list", { endpoint, job, state, limit: 1 });
	op("webhooks.pending", { atMost: 1 });
	op("webhooks.find", { id: "msg_1" });
	op("webhooks.redeliver", { id: "msg_1", now: 1 });
	const large = / (jobs|attempts|chunks|inputs|results|idempotency|deliveries|delivery_bodies) /;
	const plans = prepared
		.filter((sql) => /^ ?(SELECT|UPDATE|DELETE|WITH)/.test(sql) && large.test(sql))
		.flatMap((sql) =>
			db
				.prepare(`EXPLAIN QUERY PLAN ${sql}`)
				.all()
				.map((row) => `${String(row[3])} | ${sql}`),
		);
	db.close();
	expect(plans.length).toBeGreaterThan(20);
	const whole = plans.filter(
		(plan) =>
			(/^SCAN (jobs|attempts|chunks|inputs|results|idempotency|deliveries|delivery_bodies)\b/.test(plan) &&
				!/^SCAN \w+ USING (COVERING )?INDEX (jobs_waiting|jobs_running|attempts_open)/.test(plan)) ||
			plan.includes("TEMP B-TREE"),
	);
	expect(whole).toEqual([]);
	const claim = plans.filter((plan) =>
		plan.includes("low_priority = ? AND state = 'IN_QUEUE' AND rank > ? AND rank < ? AND due_at > ?"),
	);
	const fromIndex = expect.stringMatching(
		/^SEARCH jobs USING COVERING INDEX jobs_waiting \(queue=\? AND low_priority=\? AND rank>\? AND rank<\?\)/,
	);
	expect(claim).toEqual([fromIndex, fromIndex]);
});

/** Steps of a query plan that read each row of a table, of the statements given. */
function scansOf(db: Database, statements: readonly string[]): string[] {
	return statements
		.filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT|WITH)\b/.test(sql))
		.flatMap((sql) => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
		.map((row) => String(row[3]))
		.filter((step) => /^SCAN jobs\b(?! USING (COVERING )?INDEX jobs_(waiting|running))/.test(step));
}

const submission = {
	id: "new",
	endpoint: "e",
	operation: "run",
	lowPriority: false,
	ttlMs: 60_000,
	executionTimeoutMs: 60_000,
	leaseMs: 20_000,
	retainMs: 1,
	recordMs: 1,
};

it("a claim among 100,000 ended jobs is a few statements, and scans none of them", async () => {
	const { db, op, executed } = await withEndedJobs("claims.db");
	op("jobs.insert", { submission, input: "{}", now: 1000 });
	executed.length = 0;
	const claim = op("jobs.claim", {
		endpoint: "e",
		worker: "w1",
		limit: 9,
		maxBytes: 1000,
		now: 1000,
	});
	expect(executed.length).toBeLessThan(20);
	expect(scansOf(db, executed)).toEqual([]);
	db.close();
	expect(claim).toEqual([false, expect.arrayContaining(["new", "w1"]) as unknown, "{}"]);
});

it("a page of one state among 100,000 jobs of another is whole, however old its jobs are", async () => {
	const { db, op, executed } = await withEndedJobs("lists.db");
	db.exec("UPDATE jobs SET state = 'FAILED' WHERE seq IN (7, 8)");
	executed.length = 0;
	const page = op("jobs.list", {
		endpoint: "e",
		filter: { states: ["FAILED", "TIMED_OUT"] },
		erased: false,
		limit: 20,
		now: 1000,
	});
	expect(executed.length).toBeLessThan(20);
	expect(scansOf(db, executed)).toEqual([]);
	db.close();
	expect(page).toEqual({
		jobs: [8, 7].map(
			(seq) =>
				expect.objectContaining({
					job: expect.objectContaining({ id: `job-${seq}` }) as unknown,
				}) as unknown,
		),
	});
});

it("D11: a purge of 20,000 waiting jobs is a handful of statements and one changed row", async () => {
	const { db, op, executed } = await withEndedJobs("purges.db", WAITING);
	const changes = (): number => Number(db.prepare("SELECT total_changes()").get()?.[0]);
	const before = changes();
	executed.length = 0;
	expect(op("jobs.purge", { endpoint: "e", now: 1000 })).toBe(WAITING);
	expect([executed.length < 10, changes() - before < 5]).toEqual([true, true]);
	for (let more = true; more; )
		more = (op("jobs.settle", { now: 1000, limit: 5000 }) as { nextDueAt?: number }).nextDueAt === 1000;
	expect(db.prepare("SELECT count(*), (SELECT count(*) FROM inputs) FROM jobs").get()).toEqual([ENDED, 0]);
	db.close();
});
