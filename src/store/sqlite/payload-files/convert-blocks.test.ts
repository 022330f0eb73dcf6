/** A store of an earlier version, with large texts in rows of blocks, opens with all of them. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type Database, openDatabase } from "../database.ts";
import { openSqlite } from "../open.ts";
import { prepareSchema } from "../schema.ts";
import { convertBlocks } from "./convert-blocks.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-convert-blocks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BLOCK = 100_000;

/** A text in rows as the earlier version wrote them; returns its number. */
function writeBlocks(db: Database, byte: number, blocks: number): number {
	const last = Number(db.prepare("SELECT ifnull(max(number), 0) FROM blocks").get()?.[0]);
	const insert = db.prepare("INSERT INTO blocks (number, rest, body) VALUES (?, ?, ?)");
	for (let n = 0; n < blocks; n += 1)
		insert.run(last + 1 + n, (blocks - n) * BLOCK, new Uint8Array(BLOCK).fill(byte + n));
	return last + 1;
}

const textOf = (byte: number, blocks: number): Buffer =>
	Buffer.concat(Array.from({ length: blocks }, (_, n) => Buffer.alloc(BLOCK, byte + n)));

it("texts keep their bytes, and dropped ones are removed", async () => {
	const path = join(folder, "sluice.db");
	const db = openDatabase({ path });
	await prepareSchema(db);
	const dropped = writeBlocks(db, 90, 2);
	db.prepare("INSERT INTO dropped_blocks VALUES (?)").run(dropped);
	db.exec("INSERT INTO queues (number, endpoint) VALUES (1, 'e')");
	for (let seq = 1; seq <= 3; seq += 1) {
		db.prepare(
			`INSERT INTO jobs (seq, id, queue, state, operation, submitted_at, queued_at, ttl_ms,
				execution_timeout_ms, lease_ms, retain_ms, record_ms, due_at, rank, low_priority, ended_at)
			VALUES (?, ?, 1, 'COMPLETED', 'run', 1, 1, 1, 1, 1, 1e12, 1e12, 1e15, ?, 0, 2)`,
		).run(seq, `job-${seq}`, seq);
		db.prepare("INSERT INTO inputs (seq, input) VALUES (?, ?)").run(seq, writeBlocks(db, seq, 1));
		db.prepare("INSERT INTO results (seq, output) VALUES (?, ?)").run(seq, writeBlocks(db, 10 * seq, 4));
	}
	db.prepare(
		`INSERT INTO deliveries (number, id, endpoint, job, url, state, created_at, receiver)
			VALUES (1, 'd', 'e', 'job-1', 'https://example.com', 'failed', 1, 'r')`,
	).run();
	db.prepare("INSERT INTO delivery_bodies (number, body) VALUES (1, ?)").run(writeBlocks(db, 70, 2));
	db.close();
	for (const start of ["first", "second"]) {
		const store = await openSqlite({ path });
		for (let seq = 1; seq <= 3; seq += 1) {
			const found = await store.jobs.record({ endpoint: "e", id: `job-${seq}`, now: 5 });
			expect(Buffer.concat(found?.input as Uint8Array[]).equals(textOf(seq, 1)), start).toBe(true);
			expect(Buffer.concat(found?.output as Uint8Array[]).equals(textOf(10 * seq, 4))).toBe(true);
		}
		const body = await store.webhooks.body({ id: "d" });
		expect(Buffer.concat(body as Uint8Array[]).equals(textOf(70, 2))).toBe(true);
		await store.close();
	}
	const after = openDatabase({ path });
	expect(after.prepare("SELECT name FROM sqlite_schema WHERE name LIKE '%blocks'").all()).toEqual([]);
	expect(after.prepare("SELECT count(*) FROM payloads").get()).toEqual([7]);
	after.close();
	expect(readdirSync(`${path}.payloads`)).toEqual(["1"]);
});

it("many texts go to several files, and an interrupted conversion goes on", async () => {
	const db = openDatabase({ path: join(folder, "many.db") });
	await prepareSchema(db);
	for (let n = 0; n < 130; n += 1) writeBlocks(db, n % 200, 10);
	let commits = 0;
	const interrupted: Database = {
		...db,
		get inTransaction() {
			return db.inTransaction;
		},
		exec(sql) {
			if (sql === "COMMIT" && (commits += 1) === 3) throw new Error("interrupted");
			db.exec(sql);
		},
	};
	expect(() => convertBlocks(interrupted)).toThrow("interrupted");
	convertBlocks(db);
	expect(db.prepare("SELECT count(*), sum(length) FROM payloads").get()).toEqual([130, 130_000_000]);
	// The file of the interrupted step is not referred to.
	expect(db.prepare("SELECT DISTINCT segment FROM payloads").all()).toHaveLength(3);
	expect(readdirSync(join(folder, "many.db.payloads"))).toHaveLength(4);
	db.close();
});
