/** The check of a store after a loss of power finds counts that were never right (D56, D57). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { openSqlite } from "../../../src/kernel/store/sqlite/open.ts";
import { check } from "./check.ts";

const NOTHING = { jobs: new Map(), files: new Map(), objects: new Map(), uploads: new Map(), batches: new Map() };

const folder = mkdtempSync(join(tmpdir(), "sluice-power-loss-"));
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
	["no more than", 0, 0, []],
	["one more file than", 1, 0, ["0 files of unknown are counted as 1, 0 bytes as 0"]],
	["one more byte than", 0, 1, ["0 files of unknown are counted as 0, 0 bytes as 1"]],
])("D56: with %s there are at an endpoint without files", async (name, files, bytes, wrong) => {
	const path = join(folder, `${name}.db`);
	await (await openSqlite({ path })).close();
	const db = new DatabaseSync(path);
	db.prepare("INSERT OR REPLACE INTO file_totals (endpoint, files, bytes) VALUES ('unknown', ?, ?)").run(files, bytes);
	db.close();
	expect(await check(path, NOTHING)).toEqual(wrong);
});
