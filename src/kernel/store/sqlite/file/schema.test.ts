/** Which files are taken as a store, and which are refused with a sentence. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { readMigrations } from "../../migrate.ts";
import { openSqlite } from "../open.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-schema-"));
let files = 0;
const newPath = (): string => join(folder, `${(files += 1)}.db`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function edit(path: string, sql: string): void {
	const db = new DatabaseSync(path);
	db.exec(sql);
	db.close();
}

async function make(path: string): Promise<void> {
	await (await openSqlite({ path })).close();
}

it("makes a store once, and opens it again without a migration", async () => {
	const path = newPath();
	await make(path);
	const db = new DatabaseSync(path);
	const applied = db.prepare("SELECT number, name FROM migrations ORDER BY number").all();
	db.close();
	expect(applied.map((row) => row["number"])).toEqual(applied.map((_, index) => index + 1));
	expect(applied.length).toBe(readMigrations(new URL("../migrations/", import.meta.url)).length);
	await expect(make(path)).resolves.toBeUndefined();
});

it("refuses a store of a newer version, and leaves it alone", async () => {
	const path = newPath();
	await make(path);
	edit(path, "INSERT INTO migrations (number, name) VALUES (900, '0900_future.sql')");
	await expect(make(path)).rejects.toThrow(/newer version of Sluice: it is at migration 900/);
});

it("refuses a store of an unpublished version, and leaves it alone", async () => {
	const path = newPath();
	edit(
		path,
		`PRAGMA application_id = ${0x534c5549}; CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
		INSERT INTO migrations VALUES (1, '0001_schema.sql'), (2, '0002_resources.sql')`,
	);
	await expect(make(path)).rejects.toThrow(/made by an unpublished version of Sluice/);
	const db = new DatabaseSync(path);
	expect(db.prepare("SELECT count(*) AS count FROM migrations").get()).toEqual({ count: 2 });
	db.close();
});

it("refuses a database of something else, and leaves it alone", async () => {
	const path = newPath();
	edit(path, "CREATE TABLE jobs (mine TEXT); PRAGMA user_version = 1");
	await expect(make(path)).rejects.toThrow(/not a Sluice store/);
	const db = new DatabaseSync(path);
	expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
	expect(db.prepare("SELECT name FROM sqlite_schema").all()).toEqual([expect.objectContaining({ name: "jobs" })]);
	db.close();
});

it("refuses a file that is no database, and leaves it alone", async () => {
	const path = newPath();
	const text = "not a database, and long enough to have a header of its own. ".repeat(20);
	writeFileSync(path, text);
	await expect(make(path)).rejects.toThrow(/not a SQLite database/);
	expect(readFileSync(path, "utf8")).toBe(text);
});

it("refuses a file that a running service has open", async () => {
	const path = newPath();
	const first = await openSqlite({ path });
	await expect(openSqlite({ path })).rejects.toMatchObject({
		why: "unreachable",
		message: expect.stringContaining("in use by another process") as string,
	});
	await expect(first.ping()).resolves.toBeUndefined();
	await first.close();
	await expect(make(path)).resolves.toBeUndefined();
});

it("a migration that fails leaves nothing behind", async () => {
	const path = newPath();
	edit(path, `PRAGMA application_id = ${0x534c5549}; CREATE TABLE tokens (mine TEXT)`);
	await expect(make(path)).rejects.toThrow(/tokens/);
	const db = new DatabaseSync(path);
	const tables = db
		.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
		.all()
		.map((row) => row["name"]);
	const applied = db
		.prepare("SELECT number FROM migrations")
		.all()
		.map((row) => row["number"]);
	db.close();
	expect(applied).toEqual([]);
	expect(tables).not.toContain("endpoints");
});

it("readMigrations refuses a gap in the numbers", () => {
	const gap = mkdtempSync(join(folder, "gap-"));
	writeFileSync(join(gap, "0001_one.sql"), "");
	writeFileSync(join(gap, "0003_three.sql"), "");
	expect(() => readMigrations(pathToFileURL(`${gap}/`))).toThrow(/0003_three.sql must begin with 0002_/);
});
