/**
 * A SQLite store without batches and caches, for comparison: each operation has its own transaction
 * and first reads all memory from the file again, but for the reservations of chunks, which are not
 * in the file.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Reservation } from "../../../src/kernel/store/operations/unit-of-work.ts";
import {
	type Database,
	openDatabase,
	type Statement,
	type Value,
} from "../../../src/kernel/store/sqlite/file/database.ts";
import { UnitOfWork } from "../../../src/kernel/store/sqlite/rows/unit-of-work.ts";
import { prepareSchema } from "../../../src/kernel/store/sqlite/file/schema.ts";
import { openBatches } from "../../../src/kernel/store/sqlite/thread/batch.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import type { Reply } from "../../../src/kernel/store/sqlite/thread/messages.ts";

/** A new file without flushes to disk, removed by `end`. */
export async function temporaryDatabase(): Promise<{ db: Database; end: () => void }> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-naive-"));
	const db = openDatabase({ path: join(folder, "sluice.db") });
	db.exec("PRAGMA synchronous = OFF");
	await prepareSchema(db);
	return {
		db,
		end() {
			db.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

export interface NaiveStore {
	db: Database;
	/** Runs one packed operation. */
	run(number: number, packed: unknown): Reply;
	end(): void;
}

export async function openNaiveStore(): Promise<NaiveStore> {
	const { db, end } = await temporaryDatabase();
	const reservations = new Map<number, Reservation>();
	const statements = new Map<string, Statement>();
	// Statements keep no state between operations, and preparing them is slow.
	const cached: Database = {
		...db,
		get inTransaction() {
			return db.inTransaction;
		},
		prepare(sql) {
			const statement = statements.get(sql) ?? db.prepare(sql);
			statements.set(sql, statement);
			return statement;
		},
	};
	return {
		db,
		run: (number, packed) => openBatches(new UnitOfWork(cached, { reservations }), systemClock)([number, packed]),
		end,
	};
}

/** Contents of the job tables without row numbers and ranks, which may differ. */
export function contents(db: Database): Record<string, Value[][]> {
	const all = (sql: string): Value[][] => db.prepare(sql).all();
	return {
		jobs: all(
			`SELECT id, endpoint, state, attempt, worker, losses, returns, jobs.missed, denied_at, queued_at, started_at,
				ended_at, lease_until, retain_ms, erased, due_at, next_chunk, cursor, input_bytes,
				output_bytes, error, typeof(input),
				iif(typeof(output) = 'text', octet_length(output), typeof(output))
			FROM jobs JOIN queues ON number = queue LEFT JOIN results USING (seq) LEFT JOIN inputs USING (seq)
			ORDER BY id`,
		),
		order: all(
			`SELECT endpoint, low_priority, id FROM jobs JOIN queues ON number = queue
			WHERE state = 'IN_QUEUE' AND NOT rank BETWEEN purged_from AND purged_to
			ORDER BY endpoint, low_priority, rank`,
		),
		queues: all(
			`SELECT endpoint, in_queue, in_queue_low, in_progress, completed, failed, retried, stored_bytes
			FROM queues ORDER BY endpoint`,
		),
		attempts: all(
			`SELECT id, attempts.attempt, attempts.worker, outcome, open, attempts.missed, sign_at
			FROM attempts JOIN jobs USING (seq) ORDER BY id, attempts.attempt`,
		),
		chunks: all("SELECT id, chunks.number, body FROM chunks JOIN jobs USING (seq) ORDER BY id, 2"),
		payloads: all("SELECT segment, at, length, sum, refs FROM payloads ORDER BY at"),
		deliveries: all("SELECT id, state, due_at FROM deliveries ORDER BY id"),
		keys: all("SELECT operation, key, body_hash, job, expires_at FROM idempotency ORDER BY key, job"),
	};
}
