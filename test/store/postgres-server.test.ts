/** The PostgreSQL of the tests itself: what other tests take for granted about it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { commandOf, serverPid, sweepLeftovers } from "../support/postgres-folder.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { postgres } from "../support/postgres.ts";

/** The rows of one statement, on a connection of its own. */
async function rows(url: string, statement: string): Promise<Record<string, unknown>[]> {
	const client = new Client({ connectionString: url });
	await client.connect();
	try {
		return (await client.query<Record<string, unknown>>(statement)).rows;
	} finally {
		await client.end();
	}
}

test("each file has a database of its own, on one server", async () => {
	const [one, two] = [await (await postgres()).createDatabase(), await (await postgres()).createDatabase()];
	await rows(one.url, "create table only_here (a text)");
	const tables = "select to_regclass('only_here') is not null as there, pg_postmaster_start_time()::text as server";
	const [[inOne], [inTwo]] = [await rows(one.url, tables), await rows(two.url, tables)];
	expect(inOne).toMatchObject({ there: true });
	expect(inTwo).toEqual({ there: false, server: inOne!["server"] });
	await one.drop();
	await expect(rows(one.url, "select")).rejects.toThrow(/does not exist/);
});

test("tests are no superuser, own their database, and get the order of a language", async () => {
	const database = await (await postgres()).createDatabase();
	const about = "select rolsuper, rolcreatedb, rolcreaterole, rolbypassrls from pg_roles where rolname = current_user";
	expect(await rows(database.url, about)).toEqual([
		{ rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolbypassrls: false },
	]);
	expect(
		await rows(
			database.url,
			"select pg_get_userbyid(datdba) as owner, 'a' < 'B' or current_setting('server_version_num')::int " +
				"< 150000 as language from pg_database where datname = current_database()",
		),
	).toEqual([{ owner: "sluice", language: true }]);
	await expect(rows(database.url, "create database another")).rejects.toThrow(/permission denied/);
	await expect(rows(database.url.replace(/:[0-9a-f]+@/, ":guess@"), "select")).rejects.toThrow(
		/password authentication failed/,
	);
	await database.drop();
});

test("what is acknowledged is flushed", async () => {
	const database = await (await postgres()).createDatabase();
	for (const setting of ["fsync", "synchronous_commit", "full_page_writes"])
		expect(await rows(database.url, `select current_setting('${setting}') as value`), setting).toEqual([
			{ value: "on" },
		]);
	await database.drop();
});

/**
 * A process of its own that starts a server and then does `rest`; the folder of the data comes
 * first.
 */
async function runWithServer(rest: string): Promise<{ run: ChildProcess; dataDir: string }> {
	const module = new URL("../support/postgres-server.ts", import.meta.url).href;
	const script =
		`const { dataDir } = await (await import(${JSON.stringify(module)})).startPostgres(); ` +
		`console.log(dataDir); ${rest}`;
	const run = spawn(process.execPath, ["--input-type=module", "-e", script], {
		stdio: ["pipe", "pipe", "inherit"],
	});
	onTestFinished(() => void run.kill("SIGKILL"));
	const [dataDir] = (await once(createInterface(run.stdout), "line")) as [string];
	return { run, dataDir };
}

/** A server of this file's own. */
let server: PostgresServer;

beforeAll(async () => {
	server = await startPostgres();
});

afterAll(async () => {
	await server?.remove();
});

const ENDS = {
	"stopped in order": () => server.stop(),
	"stopped at once": () => server.stop("immediate"),
	killed: () => server.kill(),
};

test.each(Object.keys(ENDS) as (keyof typeof ENDS)[])(
	"a server that was %s starts again with its data, at the same place",
	async (how) => {
		const { url } = await server.createDatabase();
		const open = new Client({ connectionString: url });
		const cut = new Promise<void>((resolve) => open.once("end", resolve));
		open.on("error", () => {});
		await open.connect();
		await open.query("create table kept (a text)");
		await open.query("insert into kept values ($1)", [how]);
		await ENDS[how]();
		await cut;
		await expect(rows(url, "select")).rejects.toThrow("ECONNREFUSED");
		await server.start();
		expect(await rows(url, "select a from kept")).toEqual([{ a: how }]);
	},
);

test("a server that cannot start says why", async () => {
	await server.stop();
	const thief = createServer();
	await once(thief.listen(server.port, "127.0.0.1"), "listening");
	await expect(server.start()).rejects.toThrow(/Address already in use/);
	await new Promise((resolve) => thief.close(resolve));
	await server.start();
	await expect(server.start()).rejects.toThrow("runs already");
});

test("the server of a killed run is ended, that of a living one is not", async () => {
	const { run, dataDir } = await runWithServer("setInterval(() => {}, 1000)");
	const pid = serverPid(dataDir)!;
	await sweepLeftovers();
	expect(commandOf(pid)).toContain(dataDir);
	run.kill("SIGKILL");
	await once(run, "exit");
	await sweepLeftovers();
	expect(commandOf(pid)).not.toContain(dataDir);
	expect(existsSync(dirname(dataDir))).toBe(false);
	expect(await rows(server.adminUrl("postgres"), "select")).toHaveLength(1);
});

test.each(["SIGINT", "SIGTERM"] as const)("a server goes with the process that started it: %s", async (signal) => {
	const { run, dataDir } = await runWithServer("setInterval(() => {}, 1000)");
	run.kill(signal);
	expect(await once(run, "exit")).toEqual([null, signal]);
	expect(existsSync(dirname(dataDir))).toBe(false);
});

test("a server goes with the process that started it: its end", async () => {
	const { run, dataDir } = await runWithServer("process.stdin.once('end', () => process.exit(3)).resume()");
	run.stdin!.end();
	expect(await once(run, "exit")).toEqual([3, null]);
	expect(existsSync(dirname(dataDir))).toBe(false);
});
