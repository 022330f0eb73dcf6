/**
 * Large texts leave the file with what they belonged to, some at a time, and small ones never look
 * for them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openBatches } from "../thread/batch.ts";
import { openDatabase } from "../database.ts";
import type { Database } from "../database.ts";
import { OP_NAMES } from "../../operations/table.ts";
import type { OpName } from "../../operations/operation.ts";
import { openUnitOfWork } from "./unit-of-work.ts";
import { prepareSchema } from "../schema.ts";
import { CODECS } from "../thread/codecs.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-blocks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BLOCK = 100_000;
const MINUTE = 60_000;

/** A text of so many blocks. */
const text = (blocks: number): Uint8Array[] =>
	Array.from({ length: blocks }, () => new Uint8Array(BLOCK).fill(0x31));

let stores = 0;

interface Site {
	db: Database;
	op(name: OpName, q: object): unknown;
	/** Runs `settle` until nothing is due at `now`; returns how many blocks each step removed. */
	settle(now: number): number[];
	/** Rows in the table of blocks. */
	blocks(): number;
	insert(id: string, more?: { webhook?: string; blocks?: number }): void;
	claim(): void;
}

async function site(run: (site: Site) => void): Promise<void> {
	const db = openDatabase({ path: join(folder, `${(stores += 1)}.db`) });
	await prepareSchema(db);
	const batch = openBatches(openUnitOfWork(db));
	const op: Site["op"] = (name, q) => {
		const number = OP_NAMES.indexOf(name);
		const { answers, failures } = batch([
			number,
			CODECS[number]?.pack({ endpoint: "e", now: 1000, ...q }),
		]);
		expect(failures).toEqual([]);
		return answers[0];
	};
	const blocks = (): number => Number(db.prepare("SELECT count(*) FROM blocks").get()?.[0]);
	try {
		run({
			db,
			op,
			blocks,
			settle(now) {
				const removed = [];
				for (let more = true; more; ) {
					const before = blocks();
					more =
						((op("jobs.settle", { now, limit: 500 }) as { nextDueAt?: number }).nextDueAt ??
							Infinity) <= now;
					removed.push(before - blocks());
				}
				return removed;
			},
			insert(id, { webhook, blocks: count = 3 } = {}) {
				const submission = {
					id,
					endpoint: "e",
					operation: "run",
					lowPriority: false,
					ttlMs: MINUTE,
					executionTimeoutMs: MINUTE,
					leaseMs: 20_000,
					retainMs: MINUTE,
					recordMs: MINUTE,
					webhook,
				};
				op("jobs.insert", { submission, input: text(count) });
			},
			claim: () => void op("jobs.claim", { worker: "w", limit: 1, maxBytes: 1 }),
		});
	} finally {
		db.close();
	}
}

const report = { id: "job", worker: "w" };

describe("blocks of large texts", () => {
	it("D9: none is left of an expired job", () =>
		site(({ op, settle, blocks, insert, claim }) => {
			insert("job");
			claim();
			op("jobs.progress", { ...report, value: text(5) });
			op("jobs.report", { ...report, outcome: { on: "complete", output: text(4) } });
			settle(1000);
			expect(blocks()).toBe(7);
			settle(1000 + MINUTE);
			expect(blocks()).toBe(0);
		}));

	it("none is left of a text with empty blocks", () =>
		site(({ op, settle, blocks, insert, claim }) => {
			insert("job");
			claim();
			const [first, second] = text(2) as [Uint8Array, Uint8Array];
			for (const value of [
				[new Uint8Array(), first, new Uint8Array(), second, new Uint8Array()],
				[new Uint8Array()],
				"1",
			])
				op("jobs.progress", { ...report, value });
			settle(1000);
			expect(blocks()).toBe(3);
		}));

	it("D6: none is left of a progress value that was replaced, or that the end of its attempt removed", () =>
		site(({ op, settle, blocks, insert, claim }) => {
			insert("job");
			claim();
			for (const value of [text(5), text(6), "1", text(2)])
				op("jobs.progress", { ...report, value });
			settle(1000);
			expect(blocks()).toBe(3 + 2);
			op("jobs.move", { id: "job", on: "release", attempt: 1, over: true });
			settle(1000);
			expect(blocks()).toBe(3);
		}));

	it("D37: none is left of the output of a failed job that is retried", () =>
		site(({ op, settle, blocks, insert, claim }) => {
			insert("job");
			claim();
			op("jobs.report", { ...report, outcome: { on: "fail", output: text(4), error: "no" } });
			op("jobs.move", { id: "job", on: "retry" });
			settle(1000);
			expect(blocks()).toBe(3);
		}));

	it("D11: none is left of purged jobs", () =>
		site(({ op, settle, blocks, insert }) => {
			for (const id of ["a", "b"]) insert(id);
			op("jobs.purge", {});
			settle(1000);
			expect(blocks()).toBe(0);
		}));

	it("D21: none is left of a delivery that is removed; before that it outlives its job", () =>
		site(({ op, settle, blocks, insert, claim }) => {
			insert("job", { webhook: "https://example.com/hook" });
			claim();
			op("jobs.report", { ...report, outcome: { on: "complete", output: text(4) } });
			settle(1000 + MINUTE);
			settle(1000 + 2 * MINUTE);
			// Its text begins and ends with the rest of the job object.
			expect(blocks()).toBe(1 + 4 + 1);
			op("webhooks.tried", { id: "msg_job_0", tried: { at: 1000, tookMs: 1 }, state: "failed" });
			op("webhooks.expire", { before: 2000, limit: 10 });
			settle(1000 + 2 * MINUTE);
			expect(blocks()).toBe(0);
		}));

	it("are removed some at a time, whatever number of jobs is settled in one step", () =>
		site(({ settle, blocks, insert, op }) => {
			for (let job = 0; job < 5; job += 1) insert(`job-${job}`, { blocks: 150 });
			op("jobs.purge", {});
			const removed = settle(1000);
			expect(blocks()).toBe(0);
			expect(Math.max(...removed)).toBeLessThan(600);
		}));

	it("are not looked for where there are none", () =>
		site(({ db, blocks }) => {
			const executed: string[] = [];
			const prepare: Database["prepare"] = (sql) => {
				const statement = db.prepare(sql);
				const noted =
					<A extends unknown[], R>(call: (...values: A) => R) =>
					(...values: A): R => {
						executed.push(sql);
						return call(...values);
					};
				return {
					get: noted((...values) => statement.get(...values)),
					all: noted((...values) => statement.all(...values)),
					iterate: noted((...values) => statement.iterate(...values)),
					run: noted((...values) => statement.run(...values)),
				};
			};
			const { transaction, payloads } = openUnitOfWork({
				path: db.path,
				prepare,
				exec: db.exec,
				close: db.close,
				identity: db.identity,
				copyTo: db.copyTo,
				get inTransaction() {
					return db.inTransaction;
				},
			});
			executed.length = 0;
			transaction(() => {
				payloads.setInput({ seq: 1 }, "{}");
				payloads.setResult({ seq: 1 }, { output: "1" });
				expect([payloads.input({ seq: 1 }), payloads.result({ seq: 1 })]).toEqual([
					"{}",
					{ output: "1", error: undefined },
				]);
				payloads.erase({ seq: 1 });
			});
			expect(executed.filter((sql) => /typeof|blocks/.test(sql))).toEqual([]);
			expect(blocks()).toBe(0);
		}));
});
