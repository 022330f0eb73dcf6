/** Every statement finds its rows by an index, so that millions of ended jobs cost those that live nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openBatches } from "./batch.ts";
import { openDatabase } from "./database.ts";
import type { Database } from "./database.ts";
import { OP_NAMES } from "./operations.ts";
import { openParts } from "./parts.ts";
import { prepareSchema } from "./schema.ts";
import { CODECS } from "./wire.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-plans-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ENDED = 100_000;

/** A store with 100,000 ended jobs; `prepared` are all statements that the operations prepare. */
async function withEndedJobs(name: string): Promise<{ db: Database; run: ReturnType<typeof openBatches>; prepared: string[] }> {
  const file = openDatabase({ path: join(folder, name) });
  await prepareSchema(file);
  file.exec(`
    BEGIN;
    INSERT INTO queues (number, endpoint, completed) VALUES (1, 'e', ${ENDED});
    WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ${ENDED})
    INSERT INTO jobs (seq, id, queue, operation, low_priority, state, submitted_at, queued_at, started_at, ended_at, worker, ttl_ms, execution_timeout_ms, lease_ms, retain_ms, record_ms, due_at, rank)
    SELECT seq, 'job-' || seq, 1, 'run', 0, 'COMPLETED', seq, seq, seq, seq, 'w1', 60000, 60000, 20000, 60000, 60000, 9000000 + seq, seq FROM n;
    COMMIT;
  `);
  const prepared: string[] = [];
  const db: Database = {
    ...file,
    get inTransaction() {
      return file.inTransaction;
    },
    prepare(sql) {
      prepared.push(sql);
      return file.prepare(sql);
    },
  };
  return { db: file, run: openBatches(openParts(db)), prepared };
}

it("no statement reads a whole table of jobs or their parts, or sorts", async () => {
  const { db, prepared } = await withEndedJobs("plans.db");
  const plans = prepared
    .filter((sql) => /^(SELECT|UPDATE|DELETE).* (jobs|attempts|chunks|inputs|results) /.test(sql))
    .flatMap((sql) => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all().map((row) => `${String(row[3])} | ${sql}`));
  db.close();
  expect(plans.length).toBeGreaterThan(20);
  const whole = plans.filter((plan) => /^SCAN (jobs|attempts|chunks|inputs|results)\b(?! USING (COVERING )?INDEX (jobs_waiting|jobs_running|attempts_open))/.test(plan) || plan.includes("TEMP B-TREE"));
  expect(whole).toEqual([]);
  const claim = plans.filter((plan) => plan.includes("low_priority = ? AND state = 'IN_QUEUE' AND rank > ? AND due_at > ?"));
  expect(claim).toEqual([expect.stringMatching(/^SEARCH jobs USING COVERING INDEX jobs_waiting \(queue=\? AND low_priority=\? AND rank>\?\)/)]);
});

it("a claim among 100,000 ended jobs takes as long as among none", async () => {
  const { db, run } = await withEndedJobs("claims.db");
  const claim = OP_NAMES.indexOf("jobs.claim");
  const insert = OP_NAMES.indexOf("jobs.insert");
  const submission = { id: "new", endpoint: "e", operation: "run", lowPriority: false, ttlMs: 60_000, executionTimeoutMs: 60_000, leaseMs: 20_000, retainMs: 1, recordMs: 1 };
  run([insert, CODECS[insert]?.pack({ submission, input: "{}", now: 1000 })]);
  const began = process.hrtime.bigint();
  const { answers, failures } = run([claim, CODECS[claim]?.pack({ endpoint: "e", worker: "w1", limit: 9, maxBytes: 1000, now: 1000 })]);
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  db.close();
  expect(failures).toEqual([]);
  expect(answers).toEqual([[false, expect.arrayContaining(["new", "w1"]) as unknown, "{}"]]);
  expect(ms).toBeLessThan(100);
});
