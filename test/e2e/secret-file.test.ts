/**
 * The key file beside a SQLite store: durable before anything is encrypted with it, never replaced
 * silently, and its owner's alone (D22).
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, type TestContext } from "vitest";
import { openDataFolder } from "../../src/kernel/system/data-folder.ts";
import { KEY, call, folder } from "../support/service.ts";
import { sluice, start } from "./command.ts";
import { until } from "../support/until.ts";

interface Place {
	path: string;
	db: string;
	file: string;
	/** Starts the service until it says where it listens, or ends. Answers what it said. */
	serve(q?: { secret?: string; node?: readonly string[] }): Promise<Served>;
	/** Runs `sluice migrate`. */
	migrate(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
	/** Changes the closed database. */
	edit(sql: string): void;
	check(): unknown;
}

interface Served {
	url: string | undefined;
	/** What it refused with. */
	refused: string;
	/** Its log. */
	said(): string;
	end(): Promise<void>;
}

/** A folder with an endpoint in its configuration. */
function place(test: TestContext): Place {
	const at = folder();
	test.onTestFinished(at.remove);
	const db = join(at.path, "data", "s.db");
	const settings = join(at.path, "sluice.yaml");
	writeFileSync(settings, JSON.stringify({ endpoints: { ep: { launcher: { type: "external" } } } }));
	const on = <T>(use: (open: DatabaseSync) => T): T => {
		const open = new DatabaseSync(db);
		try {
			return use(open);
		} finally {
			open.close();
		}
	};
	return {
		path: at.path,
		db,
		file: `${db}.secret`,
		async serve({ secret, node } = {}) {
			const running = start(
				test,
				["serve", "--config", settings, "--port", "0", "--store", `sqlite:${db}`, "--drain-timeout", "0"],
				{
					cwd: at.path,
					env: { SLUICE_API_KEY: KEY, SLUICE_SECRET: secret },
					...(node && { node }),
				},
			);
			let over = false;
			void running.ended.then(() => (over = true));
			const found = await until(
				"the service to listen or to end",
				() => /listens on (http:\S+)/.exec(running.stdout()) ?? (over && "over"),
			);
			return {
				url: found === "over" ? undefined : found[1],
				refused: found === "over" ? running.stderr() : "",
				said: running.stderr,
				async end() {
					running.end();
					await running.ended;
				},
			};
		},
		migrate: (...args) => sluice(test, ["migrate", "--store", `sqlite:${db}`, ...args], { cwd: at.path }),
		edit: (sql) => on((open) => open.exec(sql)),
		check: () => on((open) => open.prepare("SELECT value FROM meta WHERE name = 'seal'").get()?.["value"]),
	};
}

/** Starts it once, and ends it. */
async function once(at: Place, q: { secret?: string } = {}): Promise<void> {
	const service = await at.serve(q);
	expect(service).toMatchObject({ url: expect.stringContaining("http://"), refused: "" });
	await service.end();
}

const mode = (path: string): number => statSync(path).mode & 0o777;

describe.concurrent("the key file", { timeout: 90_000 }, () => {
	it("D22: is made once, with its folder, for its owner alone, and leaves no temporary file", async (test) => {
		const at = place(test);
		const service = await at.serve();
		expect(readFileSync(at.file, "utf8")).toMatch(/^[0-9a-f]{64}$/);
		expect(mode(join(at.path, "data"))).toBe(0o700);
		for (const name of readdirSync(join(at.path, "data")))
			expect([name, mode(join(at.path, "data", name))]).toEqual([
				expect.stringMatching(/^s\.db(-wal|\.secret|\.ballast)?$/),
				0o600,
			]);
		await service.end();
		const first = readFileSync(at.file, "utf8");
		await once(at);
		expect(readFileSync(at.file, "utf8")).toBe(first);
		expect(at.check()).toMatch(/^[0-9a-f]{64}$/);
	});

	it("D22: an empty or short file, as a power loss may leave it, is refused with exit code 1", async (test) => {
		const at = place(test);
		await once(at);
		for (const text of ["", "0123456789"]) {
			writeFileSync(at.file, text);
			const { url, refused } = await at.serve();
			expect(url).toBeUndefined();
			expect(refused).toMatch(
				/The service could not start: \S+s\.db\.secret does not contain a key of 64 hexadecimal digits: /,
			);
			expect(refused).toMatch(
				/: it (is empty|has 10 characters that are not a key)\. Restore \S+s\.db\.secret from a backup/,
			);
			expect(readFileSync(at.file, "utf8")).toBe(text);
		}
	});

	it("D22: another key is refused, that of SLUICE_SECRET too; the right one is taken again", async (test) => {
		const at = place(test);
		await once(at);
		const right = readFileSync(at.file, "utf8");
		writeFileSync(at.file, randomBytes(32).toString("hex"));
		expect((await at.serve()).refused).toMatch(/The key in \S+s\.db\.secret is not the one/);
		expect((await at.serve({ secret: "a text" })).refused).toMatch(/SLUICE_SECRET is not the one/);
		writeFileSync(at.file, `${right}\n`);
		await once(at);
	});

	it("D22: a store under SLUICE_SECRET takes no other one, and no key file is made for it", async (test) => {
		const at = place(test);
		await once(at, { secret: "a text" });
		await once(at, { secret: "a text" });
		expect((await at.serve({ secret: "another text" })).refused).toMatch(/SLUICE_SECRET is not the one/);
		expect((await at.serve()).refused).toMatch(/s\.db\.secret is missing.*set it to the same text/);
		expect(existsSync(at.file)).toBe(false);
	});

	it("D22: a missing file is not replaced; after migrate --new-secret it is, and jobs go on", async (test) => {
		const at = place(test);
		await once(at);
		rmSync(at.file);
		expect((await at.serve()).refused).toMatch(/s\.db\.secret is missing: it holds the key/);
		expect(existsSync(at.file)).toBe(false);
		expect(await at.migrate("--new-secret", "--check")).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("cannot be combined"),
		});
		expect((await at.serve()).refused).toContain("is missing");
		expect(await at.migrate("--new-secret")).toMatchObject({
			code: 0,
			stderr: expect.stringContaining("webhook-secret"),
		});
		const service = await at.serve();
		expect((await call(service.url!, "/v2/ep/run", { body: { input: {} } })).status).toBe(200);
		expect((await call(service.url!, "/v1/endpoints/ep/webhook-secret", { method: "POST" })).status).toBe(200);
		await service.end();
		await once(at);
		writeFileSync(at.file, randomBytes(32).toString("hex"));
		expect((await at.serve()).refused).toContain("is not the one");
	});

	it("D22: a database without a check value takes any key", async (test) => {
		const at = place(test);
		await once(at);
		at.edit("DELETE FROM meta WHERE name = 'seal'; DELETE FROM endpoints");
		writeFileSync(at.file, randomBytes(32).toString("hex"));
		await once(at);
		expect(at.check()).toMatch(/^[0-9a-f]{64}$/);
	});

	it("D22: of two services that start at once on an empty folder one runs, and its key stays", async (test) => {
		const at = place(test);
		const both = await Promise.all([at.serve(), at.serve()]);
		const text = readFileSync(at.file, "utf8");
		expect(text).toMatch(/^[0-9a-f]{64}$/);
		const refused = both.filter(({ url }) => url === undefined);
		expect(refused).toHaveLength(1);
		expect(refused[0]!.refused).toContain("in use by another process");
		for (const { url, end } of both) if (url !== undefined) await end();
		await once(at);
		expect(readFileSync(at.file, "utf8")).toBe(text);
	});
});

it("D22: migrate --rotate-secret makes a key and encrypts with it; --reencrypt says what needs an earlier one", {
	timeout: 90_000,
}, async (test) => {
	const at = place(test);
	await once(at);
	const first = readFileSync(at.file, "utf8");
	expect(await at.migrate("--rotate-secret")).toMatchObject({
		code: 0,
		stderr: expect.stringMatching(/s\.db\.secret has a new key\. .*\n.* endpoints: 1, .* Nothing needs an earlier key/),
	});
	expect(readFileSync(at.file, "utf8")).toMatch(/^[0-9a-f]{64}$/);
	expect(readFileSync(at.file, "utf8")).not.toBe(first);
	await once(at);

	const other = place(test);
	await once(other, { secret: "old" });
	const env = { SLUICE_SECRET: "new", SLUICE_SECRET_PREVIOUS: "old" };
	const reencrypt = (...args: string[]) =>
		sluice(test, ["migrate", "--reencrypt", "--store", `sqlite:${other.db}`, ...args], { cwd: other.path, env });
	expect(await reencrypt("--check", "--json")).toMatchObject({
		code: 1,
		stdout: expect.stringContaining(
			'"reencrypted":{"endpoints":1,"releases":0,"registries":0,"resources":0,"jobs":0,"workers":0}',
		),
		stderr: expect.stringMatching(/^Secrets that need an earlier key: endpoints: 1, .*, jobs: 0, workers: 0\.\n$/),
	});
	await once(other, { secret: "old" });
	expect(await reencrypt()).toMatchObject({
		code: 0,
		stderr: expect.stringContaining("any more: SLUICE_SECRET_PREVIOUS can be removed.\n"),
	});
	expect(await reencrypt("--check")).toMatchObject({ code: 0 });
	await once(other, { secret: "new" });
});

const STRACE = (() => {
	try {
		execFileSync("strace", ["-D", "-o", "/dev/null", "true"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

it.skipIf(!STRACE)(
	`D17, D22: the key is flushed before the first commit that needs it${STRACE ? "" : " (no strace here)"}`,
	{ timeout: 60_000 },
	async (test) => {
		const at = place(test);
		const log = join(at.path, "calls");
		const service = await at.serve({
			node: [
				"strace",
				"-D",
				"-f",
				"-y",
				"-s",
				"8192",
				"-o",
				log,
				"-e",
				"trace=fsync,fdatasync,link,rename,pwrite64,mkdir",
				process.execPath,
			],
		});
		expect(service.url).toBeDefined();
		await service.end();
		const calls = readFileSync(log, "utf8").split("\n");
		const index = (what: string, fits: RegExp, from = 0): number => {
			const found = calls.findIndex((line, number) => number >= from && fits.test(line));
			expect(found, what).toBeGreaterThanOrEqual(from);
			return found;
		};
		const data = join(at.path, "data");
		const made = index("the folder is made", new RegExp(`mkdir\\("${data}"`));
		index("the folder above it is flushed", new RegExp(`fsync\\(\\d+<${at.path}>`), made);
		const content = index("the content is flushed", /fsync\(\d+<[^>]*s\.db\.secret[^>]*\.tmp>/);
		const named = index("it gets its name", /(link|rename)\(.*s\.db\.secret"/, content);
		const name = index("the name is flushed", new RegExp(`fsync\\(\\d+<${data}>`), named);
		const check = index("the check value is written", /pwrite64\(.*s\.db-wal>.*seal[0-9a-f]{64}/);
		expect(check).toBeGreaterThan(name);
		// The endpoint's row holds the first encrypted text.
		expect(index("the endpoint is written", /pwrite64\(.*s\.db-wal>.*\\"external\\"/)).toBeGreaterThan(name);
	},
);

it.skipIf(!STRACE)(
	`D22: a key file that a killed process left is flushed before its check value${STRACE ? "" : " (no strace here)"}`,
	{ timeout: 60_000 },
	async (test) => {
		const at = place(test);
		await once(at);
		at.edit("DELETE FROM meta WHERE name = 'seal'");
		const log = join(at.path, "calls");
		const service = await at.serve({
			node: ["strace", "-D", "-f", "-y", "-s", "8192", "-o", log, "-e", "trace=fsync,pwrite64", process.execPath],
		});
		await service.end();
		const calls = readFileSync(log, "utf8").split("\n");
		const flushed = calls.findIndex((line) => /fsync\(\d+<[^>]*s\.db\.secret>/.test(line));
		expect(flushed).toBeGreaterThanOrEqual(0);
		expect(calls.findIndex((line) => /pwrite64\(.*s\.db-wal>.*seal[0-9a-f]{64}/.test(line))).toBeGreaterThan(flushed);
	},
);

it("D34: what a server with PostgreSQL keeps is its owner's alone, also if it was readable before", (test) => {
	const at = folder();
	test.onTestFinished(at.remove);
	const path = join(at.path, "new", "data");
	const { close, serverId } = openDataFolder(path);
	close();
	expect([mode(join(at.path, "new")), mode(path), mode(join(path, "server.db"))]).toEqual([0o700, 0o700, 0o600]);
	chmodSync(join(path, "server.db"), 0o644);
	const again = openDataFolder(path);
	again.close();
	expect([again.serverId, mode(join(path, "server.db"))]).toEqual([serverId, 0o600]);
	const theirs = join(at.path, "theirs");
	mkdirSync(theirs, { mode: 0o755 });
	openDataFolder(theirs).close();
	expect([mode(theirs), mode(join(theirs, "server.db"))]).toEqual([0o755, 0o600]);
});

it("D34, D36: a folder in which others can replace files is reported at the start and by doctor", async (test) => {
	const { path, serve } = place(test);
	const data = join(path, "data");
	mkdirSync(data);
	for (const [bits, level, message] of [
		[0o700, undefined, ""],
		[0o755, "warning", "can list"],
		[0o777, "problem", "can replace"],
	] as const) {
		chmodSync(data, bits);
		const service = await serve();
		expect(service.said().includes("folder.writable"), String(bits)).toBe(bits === 0o777);
		await service.end();
		const env = { SLUICE_STORE: `sqlite:${join(data, "s.db")}` };
		const { stdout } = await sluice(test, ["doctor", "--json"], { cwd: path, env });
		const found = JSON.parse(stdout).findings.find(({ check }: any) => check === "folder");
		expect(found?.level).toBe(level);
		expect(found?.message ?? "").toContain(message);
	}
});
