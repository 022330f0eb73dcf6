/**
 * Large texts are counted for their file as long as something refers to them, and small ones never
 * look for them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { JsonText } from "../../../lib/json/json-text.ts";
import { openBatches } from "../thread/batch.ts";
import { systemClock } from "../../../system/clock.ts";
import { type Database, openDatabase } from "../file/database.ts";
import { OP_NAMES } from "../../operations/table.ts";
import type { OpName } from "../../operations/operation.ts";
import { textInFile } from "../payload-files/file-block.ts";
import { UnitOfWork } from "./unit-of-work.ts";
import { prepareSchema } from "../file/schema.ts";
import { CODECS } from "../thread/codecs.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-file-texts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MINUTE = 60_000;
let places = 0;

/** A text of so many bytes in the file 7. */
const text = (length: number): JsonText => textInFile({ segment: 7, at: (places += 1_000_000), length, sum: 1 });

let stores = 0;

interface Site {
	db: Database;
	op(name: OpName, q: object): unknown;
	/** Bytes of the file 7 that rows refer to, as reported to the service. */
	bytes(): number;
	insert(id: string, more?: { webhook?: string; bytes?: number }): void;
	claim(): void;
	settle(now: number): void;
}

async function site(run: (site: Site) => void): Promise<void> {
	const db = openDatabase({ path: join(folder, `${(stores += 1)}.db`) });
	await prepareSchema(db);
	const unit = new UnitOfWork(db);
	const batch = openBatches(unit, systemClock);
	let reported = 0;
	const op: Site["op"] = (name, q) => {
		const number = OP_NAMES.indexOf(name);
		const { answers, failures, segments } = batch([number, CODECS[number]?.pack({ endpoint: "e", now: 1000, ...q })]);
		expect(failures).toEqual([]);
		for (const [segment, bytes] of segments) {
			expect(segment).toBe(7);
			reported = bytes;
		}
		return answers[0];
	};
	try {
		run({
			db,
			op,
			bytes() {
				const stored = new UnitOfWork(db).texts.all();
				expect(stored).toEqual(reported > 0 ? [[7, reported]] : []);
				return reported;
			},
			insert(id, { webhook, bytes = 300_000 } = {}) {
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
				op("jobs.insert", { submission, input: text(bytes) });
			},
			claim: () => void op("jobs.claim", { worker: "w", limit: 1, maxBytes: 1 }),
			settle: (now) => void op("jobs.settle", { now, limit: 500 }),
		});
	} finally {
		db.close();
	}
}

const report = { id: "job", worker: "w" };

describe("large texts in files", () => {
	it("D9: nothing refers to those of an expired job", () =>
		site(({ op, settle, bytes, insert, claim }) => {
			insert("job");
			claim();
			op("jobs.progress", { ...report, value: text(500_000) });
			op("jobs.report", { ...report, outcome: { on: "complete", output: text(400_000) } });
			expect(bytes()).toBe(700_000);
			settle(1000 + MINUTE);
			expect(bytes()).toBe(0);
		}));

	it("D6: nothing refers to a progress value that was replaced, or that the end of its attempt removed", () =>
		site(({ op, bytes, insert, claim }) => {
			insert("job");
			claim();
			for (const value of [text(500_000), text(600_000), "1", text(200_000)]) op("jobs.progress", { ...report, value });
			expect(bytes()).toBe(300_000 + 200_000);
			op("jobs.move", { id: "job", on: "release", attempt: 1, over: true });
			expect(bytes()).toBe(300_000);
		}));

	it("D37: nothing refers to the output of a failed job that is retried", () =>
		site(({ op, bytes, insert, claim }) => {
			insert("job");
			claim();
			op("jobs.report", { ...report, outcome: { on: "fail", output: text(400_000), error: "no" } });
			op("jobs.move", { id: "job", on: "retry" });
			expect(bytes()).toBe(300_000);
		}));

	it("D11: nothing refers to those of purged jobs", () =>
		site(({ op, settle, bytes, insert }) => {
			for (const id of ["a", "b"]) insert(id);
			op("jobs.purge", {});
			settle(1000);
			expect(bytes()).toBe(0);
		}));

	it("D21: the body of a webhook refers to the job's output, also after the job", () =>
		site(({ op, settle, bytes, insert, claim }) => {
			insert("job", { webhook: "https://example.com/hook" });
			claim();
			op("jobs.report", { ...report, outcome: { on: "complete", output: text(400_000) } });
			expect(bytes()).toBe(700_000);
			settle(1000 + MINUTE);
			settle(1000 + 2 * MINUTE);
			expect(bytes()).toBe(400_000);
			op("webhooks.tried", { id: "msg_job_0", tried: { at: 1000, tookMs: 1 }, state: "failed" });
			op("webhooks.expire", { before: 2000, limit: 10 });
			expect(bytes()).toBe(0);
		}));

	it("D15: a step that is undone changes no count", () =>
		site(({ db, op, bytes, insert }) => {
			insert("job");
			const unit = new UnitOfWork(db);
			expect(() =>
				unit.transaction(() => {
					unit.payloads.setResult({ seq: 1 }, { output: text(900_000) });
					unit.payloads.erase({ seq: 1 });
					throw new Error("undone");
				}),
			).toThrow("undone");
			expect(unit.texts.all()).toEqual([[7, 300_000]]);
			op("jobs.counts", {});
			expect(bytes()).toBe(300_000);
		}));

	it("are not looked for where there are none", () =>
		site(({ db, bytes }) => {
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
			const unit = new UnitOfWork({
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
			const { payloads } = unit;
			unit.transaction(() => {
				payloads.setInput({ seq: 1 }, "{}");
				payloads.setResult({ seq: 1 }, { output: "1" });
				expect([payloads.input({ seq: 1 }), payloads.result({ seq: 1 })]).toEqual([
					"{}",
					{ output: "1", error: undefined },
				]);
				payloads.erase({ seq: 1 });
			});
			expect(executed.filter((sql) => /typeof|payloads \(|FROM payloads|UPDATE payloads/.test(sql))).toEqual([]);
			expect(bytes()).toBe(0);
		}));
});
