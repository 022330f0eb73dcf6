/**
 * The database thread's work without the thread, for tests: each test decides what shares a
 * transaction.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OP_NAMES } from "../../../src/kernel/store/operations/table.ts";
import type { OpName } from "../../../src/kernel/store/operations/operation.ts";
import { openBatches } from "../../../src/kernel/store/sqlite/thread/batch.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { type Database, openDatabase } from "../../../src/kernel/store/sqlite/file/database.ts";
import type { Reply } from "../../../src/kernel/store/sqlite/thread/messages.ts";
import { UnitOfWork } from "../../../src/kernel/store/sqlite/rows/unit-of-work.ts";
import { prepareSchema } from "../../../src/kernel/store/sqlite/file/schema.ts";
import { CODECS } from "../../../src/kernel/store/sqlite/thread/codecs.ts";

export const NOW = 1_800_000_000_000;
export const MINUTE = 60_000;

/**
 * A new file. `answer` runs the first batch and those available after it; `ran` counts statements
 * since opening.
 */
export interface BatchSite {
	answer(...batches: unknown[][]): Reply;
	/** Batches that the last answer left. */
	left(): number;
	/** Whether it was allowed to wait for a batch, each time that it looked for one (T11). */
	waits(): readonly boolean[];
	/** How often statements with this beginning ran. */
	ran(beginning: string): number;
	end(): void;
}

/** `keptRows`: the size of the row cache. */
export async function batchSite(options: { keptRows?: number } = {}): Promise<BatchSite> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-batches-"));
	const file = openDatabase({ path: join(folder, "sluice.db") });
	await prepareSchema(file);
	const runs = new Map<string, number>();
	const db: Database = {
		...file,
		get inTransaction() {
			return file.inTransaction;
		},
		prepare(sql) {
			const statement = file.prepare(sql);
			return {
				get: (...values) => statement.get(...values),
				all: (...values) => statement.all(...values),
				iterate: (...values) => statement.iterate(...values),
				run(...values) {
					runs.set(sql, (runs.get(sql) ?? 0) + 1);
					return statement.run(...values);
				},
			};
		},
	};
	const batch = openBatches(new UnitOfWork(db, options), systemClock);
	runs.clear();
	let waiting: unknown[][] = [];
	let waits: boolean[] = [];
	return {
		answer(first, ...others) {
			waiting = others;
			waits = [];
			return batch(first!, (mayWait) => {
				waits.push(mayWait);
				return waiting.shift();
			});
		},
		left: () => waiting.length,
		waits: () => waits,
		ran: (beginning) => [...runs].reduce((sum, [sql, times]) => (sql.startsWith(beginning) ? sum + times : sum), 0),
		end() {
			file.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** An operation on endpoint `e`, as packed in a batch. */
export function op(name: OpName, q: object): unknown[] {
	const number = OP_NAMES.indexOf(name);
	return [number, CODECS[number]?.pack({ endpoint: "e", now: NOW, ...q })];
}

export const insert = (id: string, submission: object = {}): unknown[] =>
	op("jobs.insert", {
		submission: {
			id,
			endpoint: "e",
			operation: "run",
			lowPriority: false,
			ttlMs: MINUTE,
			executionTimeoutMs: MINUTE,
			leaseMs: 20_000,
			retainMs: MINUTE,
			recordMs: MINUTE,
			...submission,
		},
		input: `{"of":"${id}"}`,
	});
export const claim = (limit: number): unknown[] => op("jobs.claim", { worker: "w", limit, maxBytes: 1e6 });
export const get = (id: string): unknown[] => op("jobs.get", { id });

/** Ids and inputs of the jobs in a claim's answer. */
export function handedOut(packed: unknown): { id: string; input: unknown }[] {
	const number = OP_NAMES.indexOf("jobs.claim");
	const { jobs } = CODECS[number]!.unpackAnswer(packed, {}) as {
		jobs: { job: { id: string }; input: unknown }[];
	};
	return jobs.map(({ job, input }) => ({ id: job.id, input }));
}

/** The ids of {@link handedOut}. */
export const claimed = (packed: unknown): string[] => handedOut(packed).map(({ id }) => id);
