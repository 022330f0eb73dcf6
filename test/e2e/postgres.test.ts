/**
 * A service on PostgreSQL as a process, and the commands around it: `serve`, `migrate`, `doctor`
 * (D22, D34, D36).
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { describe, expect, it, type TestContext } from "vitest";
import { readMigrations } from "../../src/kernel/store/migrate.ts";
import { postgres } from "../support/postgres.ts";
import { KEY, folder } from "../support/service.ts";
import { sluice, start } from "./command.ts";
import { ended, run, site, started } from "./site.ts";
import { until } from "../support/until.ts";

const ALL = readMigrations(new URL("../../src/kernel/store/postgres/migrations/", import.meta.url))
	.map(({ name }) => name)
	.join(", ");
const SECRET = "the secret of all servers";

/** A folder, an empty database, and how commands find it. */
async function place(test: TestContext): Promise<{
	cwd: string;
	url: string;
	shown: string;
	password: string;
	env: Record<string, string>;
}> {
	const { url } = await (await postgres()).createDatabase();
	const room = folder();
	test.onTestFinished(() => room.remove());
	const { host, pathname, password } = new URL(url);
	return {
		cwd: room.path,
		url,
		shown: host + pathname,
		password,
		env: {
			SLUICE_STORE: url,
			SLUICE_SECRET: SECRET,
			SLUICE_API_KEY: KEY,
			SLUICE_URL: "http://127.0.0.1:1",
		},
	};
}

async function sql(url: string, text: string): Promise<void> {
	const client = new Client({ connectionString: url });
	await client.connect();
	await client.query(text);
	await client.end();
}

describe("sluice migrate", () => {
	it.concurrent("D34: prints what is missing, applies it, and has nothing to do afterwards", async (test) => {
		const { cwd, env, url, shown, password } = await place(test);
		const said: string[] = [];
		const ask = async (...args: string[]): Promise<[number | null, string]> => {
			const { code, stdout, stderr } = await sluice(test, ["migrate", ...args], {
				cwd,
				env: { ...env, SLUICE_SECRET: undefined },
			});
			said.push(stdout + stderr);
			return [code, stdout + stderr];
		};
		expect(await ask("--check")).toEqual([1, `${shown}: missing ${ALL}.\n`]);
		expect(await ask("--check", "--json")).toEqual([
			1,
			`${JSON.stringify({ store: shown, missing: ALL.split(", ") })}\n`,
		]);
		expect(await ask()).toEqual([0, `${shown}: applied ${ALL}.\n`]);
		expect(await ask()).toEqual([0, `${shown} is up to date.\n`]);
		expect(await ask("--check", "--store", url)).toEqual([0, `${shown} is up to date.\n`]);
		await sql(url, "INSERT INTO migrations (number, name) VALUES (900, 'x')");
		expect(await ask()).toEqual([
			1,
			expect.stringMatching(/was made by a newer version of Sluice: it is at migration 900/),
		]);
		expect(await ask("--store", "postgres://u:hidden@h")).toEqual([
			2,
			expect.stringMatching(/^--store must be sqlite:<path>/),
		]);
		expect(await ask("more")).toEqual([
			2,
			expect.stringContaining("Unexpected argument 'more'. Usage: sluice migrate"),
		]);
		expect(said.join()).not.toMatch(new RegExp(`${password}|hidden`));
	});

	it.concurrent("D34: does the same for a file of SQLite, and does not make one to look", async (test) => {
		const { cwd } = await place(test);
		const ask = (...args: string[]) => sluice(test, ["migrate", "--store", "sqlite:s.db", ...args], { cwd });
		const path = join(cwd, "s.db");
		for (let look = 0; look < 2; look += 1)
			expect(await ask("--check")).toMatchObject({
				code: 1,
				stdout: expect.stringMatching(`^${path}: missing 0001_store.sql`),
			});
		expect(await ask()).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(`^${path}: applied 0001_store.sql`),
		});
		expect(await ask("--check")).toMatchObject({ code: 0, stdout: `${path} is up to date.\n` });
	});
});

describe("sluice doctor", () => {
	interface Report {
		findings: { check: string; level: string; message: string }[];
	}

	it.concurrent("D36: checks a PostgreSQL store, and prints nothing of its password", async (test) => {
		const { cwd, env, shown, password, url } = await place(test);
		const look = async (given: Record<string, string | undefined> = {}): Promise<string[]> => {
			const { stdout, stderr } = await sluice(test, ["doctor", "--json"], {
				cwd,
				env: { ...env, ...given },
			});
			expect(stdout + stderr).not.toMatch(new RegExp(`${password}|hidden`));
			return (JSON.parse(stdout) as Report).findings
				.filter(({ check }) => ["configuration", "store", "schema", "durability"].includes(check))
				.map(({ check, level, message }) => `${level} ${check}: ${message}`);
		};
		expect(await look()).toEqual([
			"ok configuration: 0 endpoints are configured.",
			expect.stringMatching(`^ok store: PostgreSQL [\\d.]+ at ${shown} answers\\.$`),
			`warning schema: Missing migrations: ${ALL}.`,
			"ok durability: Commits are flushed to disk.",
		]);
		await sluice(test, ["migrate"], { cwd, env });
		expect(await look()).toContain("ok schema: The schema is up to date.");
		await sql(url, `ALTER ROLE sluice IN DATABASE ${shown.split("/")[1]} SET synchronous_commit = off`);
		expect(await look()).toContain(
			"ok durability: Commits are flushed to disk (Sluice overrides the server's synchronous_commit = off).",
		);
		expect(await look({ SLUICE_STORE: "postgres://u:hidden@127.0.0.1:1/jobs" })).toContain(
			"problem store: PostgreSQL at 127.0.0.1:1/jobs cannot be reached: connect ECONNREFUSED 127.0.0.1:1.",
		);
		expect(await look({ SLUICE_STORE: url.replace(password, "hidden") })).toContainEqual(
			expect.stringMatching(
				`^problem store: PostgreSQL at ${shown} refused the connection: password authentication failed`,
			),
		);
		expect(await look({ SLUICE_SECRET: undefined })).toEqual([
			expect.stringMatching(/^problem configuration: SLUICE_SECRET must be set when the store is PostgreSQL/),
		]);
	});
});

describe("sluice serve", () => {
	it.concurrent("with SQLite nothing of PostgreSQL is in memory", async (test) => {
		const { cwd } = await place(test);
		const script = `
      const { default: { _cache: loaded } } = await import("node:module");
      const kernel = ${JSON.stringify(new URL("../../src/kernel/", import.meta.url).href)};
      const from = (path) => import(new URL(path, kernel));
      const { openStore } = await from("stores.ts");
      const names = () => Object.keys(loaded).filter((path) => path.includes("/node_modules/pg/")).length;
      await from("compose.ts");
      const store = await openStore({ address: { kind: "sqlite", path: "s.db" } });
      const before = names();
      const postgres = { kind: "postgres", url: "postgres://127.0.0.1:1/x" };
      await openStore({ address: postgres, checkKey: () => "a check value" }).catch(() => {});
      console.log(before, names() > 0);
      await store.close();`;
		writeFileSync(join(cwd, "script.mjs"), script);
		const { stdout } = await promisify(execFile)(process.execPath, ["script.mjs"], { cwd });
		expect(stdout).toBe("0 true\n");
	});

	it("D34, D22: serves on PostgreSQL, restarts with its worker; secrets reach no worker or line", async (test) => {
		const { url, password } = await place(test);
		const here = site(test);
		const env = { SLUICE_STORE: url, SLUICE_SECRET: SECRET };
		const args = ["--store", url, "--data-dir", join(here.folder.path, "one"), "--drain-timeout", "0"];
		writeFileSync(
			join(here.folder.path, "env.mjs"),
			`import { writeFileSync } from "node:fs"; writeFileSync("seen.json", JSON.stringify(process.env)); ` +
				"setInterval(() => {}, 1000);",
		);
		const endpoints = {
			words: here.launched(),
			env: { workersMin: 1, launcher: { type: "process", command: [process.execPath, "env.mjs"] } },
		};
		const first = await here.serve({ endpoints, args, env });
		const done = await run(first, "words", { n: 7 });
		expect(await ended(first, "words", done)).toMatchObject({
			status: "COMPLETED",
			output: { n: 7 },
		});
		const seen = await until("the variables of a worker", () =>
			readFileSync(join(here.folder.path, "seen.json"), "utf8"),
		);
		expect(seen).toContain("SLUICE_SERVICE_ID");
		expect(seen).not.toMatch(new RegExp(`${password}|${SECRET}|${KEY}`));
		// With --store the password is on the command line, until the service runs.
		if (process.platform === "linux") {
			const words = readFileSync(`/proc/${first.child.pid}/cmdline`, "utf8");
			expect(words).toMatch(/^sluice serve/);
			expect(words).not.toContain(password);
		}
		const half = await run(first, "words", { until: "later" });
		const { worker } = await started(here, half);
		await first.end("SIGKILL");
		const second = await here.serve({ args, env });
		here.allow("later");
		expect(await ended(second, "words", half)).toMatchObject({
			status: "COMPLETED",
			workerId: worker,
		});
		expect(here.runs(half)).toHaveLength(1);
		expect(first.stderr() + second.stderr()).not.toContain(password);
		expect(await second.end()).toBe(0);
	});

	it("D22, D34: another secret and a folder that is in use are refused with a sentence, exit 1", async (test) => {
		const { cwd, env } = await place(test);
		const serve = ["serve", "--port", "0"];
		const first = start(test, serve, { cwd, env });
		await until("the first server", () => first.stdout().includes("http://"));
		expect(await sluice(test, serve, { cwd, env })).toEqual({
			code: 1,
			stdout: "",
			stderr:
				`The service could not start: The folder ${join(cwd, "data")} is in use by another ` +
				"server. Each server needs its own: --data-dir FOLDER.\n",
		});
		const other = await sluice(test, [...serve, "--data-dir", "other"], {
			cwd,
			env: { ...env, SLUICE_SECRET: "another" },
		});
		expect(other).toEqual({
			code: 1,
			stdout: "",
			stderr:
				"The service could not start: SLUICE_SECRET is not the one that the secrets in the store are " +
				"encrypted with. All servers of a store need the same text; to replace it, set " +
				"SLUICE_SECRET_PREVIOUS to the earlier one.\n",
		});
		first.end();
		expect((await first.ended).code).toBe(0);
	});
});
