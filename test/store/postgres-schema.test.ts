/** Which databases are taken as a store, and which are refused with a sentence. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Client } from "pg";
import { expect, it } from "vitest";
import { readMigrations } from "../../src/kernel/store/migrate.ts";
import { pendingMigrations, prepareSchema } from "../../src/kernel/store/postgres/schema.ts";
import { type Facts, usable } from "../../src/kernel/store/postgres/connection/setup.ts";
import { postgres } from "../support/postgres.ts";
import type { TestDatabase } from "../support/postgres-databases.ts";

const ALL = readMigrations(new URL("../../src/kernel/store/postgres/migrations/", import.meta.url)).map(
	({ name }) => name,
);

const database = async (): Promise<TestDatabase> => await (await postgres()).createDatabase();
const names = (migrations: readonly { name: string }[]): string[] => migrations.map(({ name }) => name);

/** The rows of SQL on a connection of its own. */
async function sql(url: string, text: string): Promise<unknown[][]> {
	const client = new Client({ connectionString: url });
	await client.connect();
	try {
		return (await client.query<unknown[]>({ text, rowMode: "array" })).rows;
	} finally {
		await client.end();
	}
}

/** Names of the tables in the schema `public`. */
async function tables(url: string): Promise<unknown[]> {
	return (await sql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")).flat();
}

it("makes a store once, prints what is missing before, and opens it again without a migration", async () => {
	const { url } = await database();
	expect(names(await pendingMigrations({ url }))).toEqual(ALL);
	expect(await tables(url)).toEqual([]);
	expect(names(await prepareSchema({ url }))).toEqual(ALL);
	expect(await sql(url, "SELECT number, name FROM migrations ORDER BY number")).toEqual(
		ALL.map((name, index) => [index + 1, name]),
	);
	expect([await pendingMigrations({ url }), await prepareSchema({ url })]).toEqual([[], []]);
});

/** Tables with their columns by name, indexes, constraints and options. */
const SCHEMA = `
  SELECT t.relname, attname, format_type(atttypid, atttypmod), attnotnull, attcollation, attstorage, attidentity,
    pg_get_expr(adbin, adrelid),
    (SELECT json_agg(pg_get_constraintdef(c.oid) ORDER BY conname)::text
      FROM pg_constraint AS c WHERE c.conrelid = t.oid),
    (SELECT json_agg(pg_get_indexdef(indexrelid) ORDER BY indexrelid::regclass::text)::text
      FROM pg_index WHERE indrelid = t.oid),
    (SELECT array_agg(option ORDER BY option)::text FROM unnest(t.reloptions) AS option)
  FROM pg_class AS t JOIN pg_attribute ON attrelid = t.oid LEFT JOIN pg_attrdef ON adrelid = t.oid AND adnum = attnum
  WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace AND attnum > 0 ORDER BY 1, 2`;

it("an upgraded store has the schema of a new one", async () => {
	const [{ url: fresh }, { url: upgraded }] = await Promise.all([database(), database()]);
	const kept = new URL("earlier/postgres-0001.sql.gz", import.meta.url);
	await sql(upgraded, gunzipSync(readFileSync(kept)).toString());
	await Promise.all([fresh, upgraded].map((url) => prepareSchema({ url })));
	expect(await sql(upgraded, SCHEMA)).toEqual(await sql(fresh, SCHEMA));
});

it("servers that start at once wait for each other: one applies, none fails", async () => {
	const { url } = await database();
	const done = await Promise.all([1, 2, 3, 4].map(() => prepareSchema({ url })));
	expect(done.map((each) => each.length).toSorted((a, b) => a - b)).toEqual([0, 0, 0, ALL.length]);
});

it("refuses a store of a newer version, and leaves it alone", async () => {
	const { url } = await database();
	await prepareSchema({ url });
	await sql(url, "INSERT INTO migrations (number, name) VALUES (900, '0900_future.sql')");
	await expect(prepareSchema({ url })).rejects.toThrow(/newer version of Sluice: it is at migration 900/);
	await expect(pendingMigrations({ url })).rejects.toThrow(/newer version of Sluice: it is at migration 900/);
});

it("refuses a store of an unpublished version, and leaves it alone", async () => {
	const { url } = await database();
	await prepareSchema({ url });
	await sql(url, "UPDATE migrations SET name = '0001_schema.sql' WHERE number = 1");
	await expect(prepareSchema({ url })).rejects.toThrow(/made by an unpublished version of Sluice/);
	await expect(pendingMigrations({ url })).rejects.toThrow(/made by an unpublished version of Sluice/);
});

it.each([
	["a table of another program", "CREATE TABLE jobs (mine text)"],
	["a view of another program", "CREATE VIEW mine AS SELECT 1"],
	["the migrations of another program", "CREATE TABLE migrations (number integer, name text)"],
])("refuses a database with %s, and leaves it alone", async (_, text) => {
	const { url } = await database();
	await sql(url, text);
	const before = await tables(url);
	await expect(prepareSchema({ url })).rejects.toThrow(/contains something that is not a Sluice store/);
	expect(await tables(url)).toEqual(before);
});

it("what belongs to an extension is no obstacle", async () => {
	const { name, url } = await database();
	await sql((await postgres()).adminUrl(name), "CREATE EXTENSION pg_stat_statements");
	expect(names(await prepareSchema({ url }))).toEqual(ALL);
});

it("the search path says in which schema the store is; another one is not read", async () => {
	const { url } = await database();
	await sql(url, `CREATE TABLE mine (a text); CREATE SCHEMA "My jobs"`);
	const own = `${url}?options=${encodeURIComponent('-c search_path="My\\ jobs"')}`;
	expect(names(await prepareSchema({ url: own }))).toEqual(ALL);
	expect(await prepareSchema({ url: own })).toEqual([]);
	expect(await tables(url)).toEqual(["mine"]);
	await expect(prepareSchema({ url: `${url}?options=${encodeURIComponent("-c search_path=none")}` })).rejects.toThrow(
		/No schema of the search path of sluice exists/,
	);
});

it("a migration that fails leaves nothing behind, and says which it was", async () => {
	const { url } = await database();
	await sql(
		url,
		"CREATE TABLE migrations (number integer PRIMARY KEY, name text NOT NULL); COMMENT " +
			"ON TABLE migrations IS 'Sluice store'; CREATE TABLE tokens (mine text)",
	);
	await expect(prepareSchema({ url })).rejects.toThrow(
		/The migration 0001_store\.sql failed and was rolled back\. .*"tokens" already exists/,
	);
	expect(await sql(url, "SELECT number FROM migrations")).toEqual([]);
	expect(await tables(url)).not.toContain("endpoints");
});

it("a role without the right to make tables gets an error that says so, and uses a store that exists", async () => {
	const { name, url } = await database();
	const admin = (await postgres()).adminUrl(name);
	await sql(admin, `REVOKE CREATE ON SCHEMA public FROM PUBLIC; ALTER DATABASE ${name} OWNER TO postgres`);
	await expect(prepareSchema({ url })).rejects.toThrow(
		new RegExp(
			"The role sluice may not create tables in the schema public of 127\\.0\\.0\\.1.*" +
				"GRANT CREATE ON SCHEMA public TO sluice",
		),
	);
	await sql(admin, "GRANT CREATE ON SCHEMA public TO sluice");
	await prepareSchema({ url });
	await sql(admin, "REVOKE CREATE ON SCHEMA public FROM sluice");
	expect(await prepareSchema({ url })).toEqual([]);
});

it("refuses an encoding that payloads do not fit into", async () => {
	const shared = await postgres();
	const { name } = await database();
	await sql(
		shared.adminUrl("postgres"),
		`CREATE DATABASE latin_${name} OWNER sluice TEMPLATE template0 ENCODING 'LATIN1'`,
	);
	await expect(prepareSchema({ url: shared.url(`latin_${name}`) })).rejects.toThrow(
		/has the encoding LATIN1, and payloads need UTF8/,
	);
});

it.each<[string, Partial<Facts>, RegExp | undefined]>([
	[
		"an old server",
		{ number: 130_022, version: "13.22" },
		/^PostgreSQL at db is version 13\.22; Sluice needs 14 or newer\.$/,
	],
	["a standby", { standby: true }, /^PostgreSQL at db is a standby, which is read-only\./],
	["the oldest that will do", { number: 140_000 }, undefined],
])("%s, which the tests do not have, is known by its own version", async (_, shown, refused) => {
	const facts: Facts = {
		number: 180_004,
		version: "18.4",
		encoding: "UTF8",
		schema: "public",
		role: "sluice",
		standby: false,
		may_create: true,
		...shown,
	};
	const answer = usable({ name: "db", ask: async <Row>() => [facts as Row] });
	if (refused) await expect(answer).rejects.toThrow(refused);
	else await expect(answer).resolves.toBe(facts);
});

it("no sentence holds the password", async () => {
	const { url } = await database();
	const refused = await prepareSchema({ url: url.replace(/:[0-9a-f]+@/, ":hidden-secret@") }).catch(
		(error: unknown) => error as Error,
	);
	expect(refused).toMatchObject({
		message: expect.stringMatching(
			/^PostgreSQL at 127\.0\.0\.1:\d+\/test_\w+ refused the connection: password authentication failed/,
		),
	});
	const unreachable = await prepareSchema({
		url: "postgres://sluice:hidden-secret@127.0.0.1:1/jobs?sslmode=disable",
	}).catch((error: unknown) => error as Error);
	expect(unreachable).toMatchObject({
		why: "unreachable",
		message: "PostgreSQL at 127.0.0.1:1/jobs cannot be reached: connect ECONNREFUSED 127.0.0.1:1.",
	});
	expect(
		[refused, unreachable].map((error) => `${(error as Error).message} ${(error as Error).stack}`).join(),
	).not.toContain("hidden");
});
