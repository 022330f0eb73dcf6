/**
 * Backups by command (D46): of a service under load, killed, refused; checked, restored, and started
 * again.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, type TestContext } from "vitest";
import { ON_POSTGRES } from "../support/service-store.ts";
import { call, folder, type ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sluice, start } from "./command.ts";
import { managed, type Managed } from "./managed.ts";
import { ended, isAlive, site, started } from "./site.ts";

const EXTERNAL = { ep: { launcher: { type: "external" }, limits: "off" } };

/** Submits a job; its id once it is acknowledged. */
async function submit({ url }: ServiceProcess, input: object): Promise<string> {
	const { status, json } = await call(url, "/v2/ep/run", { body: { input } });
	expect(status).toBe(200);
	return json.id as string;
}

/** Jobs of 50 kB each, in rows, so that a copy of the database takes a while. */
async function fill({ service }: Managed, megabytes: number): Promise<void> {
	const text = "x".repeat(50_000);
	for (let n = 0; n < megabytes; n += 1) await Promise.all(Array.from({ length: 20 }, () => submit(service, { text })));
}

/** A service with a backup of three jobs in `b.tar`. */
async function backedUp(test: TestContext): Promise<Managed & { file: string }> {
	const here = await managed(test, () => EXTERNAL);
	for (let n = 0; n < 3; n += 1) await submit(here.service, { n });
	const file = join(here.cwd, "b.tar");
	expect((await here.ask("backup", file)).code).toBe(0);
	return { ...here, file };
}

describe.skipIf(ON_POSTGRES)("D46: a backup of a service under load", () => {
	it("D17: has every job acknowledged before it, is restored, and its service runs on", {
		timeout: 120_000,
	}, async (test) => {
		const here = await managed(test, (place) => ({
			ep: place.launched({ workersMax: 2, limits: "off", env: { SECRET: "in env" } }),
		}));
		const { service, cwd } = here;
		const secret = (await call(service.url, "/v1/endpoints/ep/webhook-secret", { method: "POST" })).json;
		expect(secret.secret ?? secret.webhookSecret).toBeDefined();
		const before: string[] = [];
		const padding = "x".repeat(100_000);
		for (let n = 0; n < 20; n += 1)
			before.push(await submit(service, { n, size: n % 2 === 0 ? 20_000 : 100_000, padding }));
		const held = await submit(service, { until: "never" });
		let over = false;
		const during: string[] = [];
		const load = Promise.all(
			[1, 2].map(async () => {
				while (!over) during.push(await submit(service, { n: 1, size: 1000 }));
			}),
		);
		for (let round = 0; round < 3; round += 1) {
			const known = [...before, held, ...during];
			const file = join(cwd, `${round}.tar`);
			const { code, stdout, stderr } = await here.ask("backup", file);
			expect({ code, stdout }).toEqual({
				code: 0,
				stdout: expect.stringMatching(/^Wrote \S+: [\d.]+ [kM]B, complete\.\n$/),
			});
			expect(stderr).toMatch(/^The key for secrets is not in it\. Keep the key file/);
			const checked = await here.ask("verify", file, "--key-file", join(cwd, "sluice.db.secret"));
			expect(checked.stdout).toMatch(/is sound\.\n[^]*key +\S+sluice\.db\.secret fits/);
			expect(checked.code).toBe(0);
			const there = folder();
			test.onTestFinished(there.remove);
			const store = join(there.path, "s.db");
			const restored = await here.ask("restore", file, "--store", `sqlite:${store}`);
			expect({ code: restored.code, files: readdirSync(there.path) }).toEqual({
				code: 0,
				files: ["s.db", "s.db.payloads"],
			});
			const db = new DatabaseSync(store);
			const has = db.prepare("SELECT count(*) AS n FROM jobs WHERE id = ?");
			for (const id of known) expect(has.get(id), id).toEqual({ n: 1 });
			db.close();
		}
		over = true;
		await load;
		expect(during.length).toBeGreaterThan(20);
		await service.end("SIGKILL");
		const next = site(test);
		const store = join(next.folder.path, "sluice.db");
		const args = ["restore", join(cwd, "2.tar"), "--store", `sqlite:${store}`];
		const restored = await here.ask(...args, "--key-file", join(cwd, "sluice.db.secret"));
		expect(restored.stdout).toMatch(/^Restored \S+\.\n\S+2\.tar is sound\.\n/);
		const again = await next.serve({
			endpoints: { ep: next.launched({ workersMax: 2, limits: "off" }) },
		});
		for (const id of before)
			await until(`job ${id}`, async () => {
				const { status } = (await call(again.url, `/v2/ep/status/${id}`)).json;
				return status === "COMPLETED";
			});
		const fresh = await submit(again, { n: 7 });
		await until("a new job", async () => {
			const { json } = await call(again.url, `/v2/ep/status/${fresh}`);
			return json.status === "COMPLETED";
		});
	});

	it("the key is not in it, and a restore without it says what is missing", async (test) => {
		const here = await backedUp(test);
		const key = readFileSync(join(here.cwd, "sluice.db.secret"), "utf8").trim();
		const archive = readFileSync(here.file);
		expect(archive.includes(key)).toBe(false);
		expect(archive.includes(Buffer.from(key, "hex"))).toBe(false);
		const next = site(test);
		const store = join(next.folder.path, "sluice.db");
		const restored = await here.ask("restore", here.file, "--store", `sqlite:${store}`);
		expect(restored.stderr).toMatch(/put the saved key file at \S+\/sluice\.db\.secret/);
		expect(restored.stdout).toMatch(/key +not checked: there is no/);
		await expect(next.serve({ endpoints: EXTERNAL })).rejects.toThrow(/sluice\.db\.secret is missing/);
		const wrong = join(here.cwd, "wrong.secret");
		writeFileSync(wrong, "a".repeat(64));
		const checked = await here.ask("verify", here.file, "--key-file", wrong);
		expect([checked.code, checked.stdout]).toEqual([
			1,
			expect.stringMatching(/key +\S+wrong\.secret is not the key of this store/),
		]);
		const other = join(here.cwd, "other", "s.db");
		const refused = await here.ask("restore", here.file, "--store", `sqlite:${other}`, "--key-file", wrong);
		expect([refused.code, refused.stderr, readdirSync(dirname(other))]).toEqual([
			1,
			expect.stringMatching(/is not the key of this backup\. Nothing was restored/),
			[],
		]);
	});

	it("D17: kill -9 of the service during one leaves nothing behind at the next start", async (test) => {
		const here = await managed(test, () => EXTERNAL);
		await fill(here, 60);
		const copy = join(here.cwd, ".sluice.db.backup.tmp");
		const file = join(here.cwd, "b.tar");
		const running = start(test, ["backup", file], {
			cwd: here.cwd,
			env: { SLUICE_URL: here.service.url, SLUICE_API_KEY: "test-key-0123456789-0123456789" },
		});
		await until("the copy to begin", () => existsSync(copy));
		await here.service.end("SIGKILL");
		expect(existsSync(copy)).toBe(true);
		const { code, stderr } = await running.ended;
		expect([code, stderr]).toEqual([1, expect.stringMatching(/No service answers|was lost/)]);
		await here.place.serve({ endpoints: EXTERNAL });
		const names = readdirSync(here.cwd).filter((name) => name.includes("backup") || name.includes(".tar"));
		expect(names).toEqual([]);
		expect((await here.ask("backup", file)).code).toBe(0);
	});

	it("a client that leaves ends it", async (test) => {
		const here = await managed(test, () => EXTERNAL);
		await fill(here, 60);
		const running = start(test, ["backup", "b.tar"], {
			cwd: here.cwd,
			env: { SLUICE_URL: here.service.url, SLUICE_API_KEY: "test-key-0123456789-0123456789" },
		});
		const copy = join(here.cwd, ".sluice.db.backup.tmp");
		await until("the copy to begin", () => existsSync(copy));
		running.end("SIGINT");
		const { code, stderr } = await running.ended;
		expect([code, stderr]).toEqual([1, "Stopped; nothing was written.\n"]);
		await until("the copy to be removed", () => !existsSync(copy));
		expect(readdirSync(here.cwd).filter((name) => name.endsWith(".tmp"))).toEqual([]);
		await until("the next one", async () => (await here.ask("backup", "b.tar")).code === 0);
	});

	it("D41: is refused when its copy would use the reserve of free space", async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: EXTERNAL,
			file: { budgets: { reservedDisk: 1_000_000_000_000_000 } },
		});
		const env = { SLUICE_URL: service.url, SLUICE_API_KEY: "test-key-0123456789-0123456789" };
		const { code, stderr } = await sluice(test, ["backup", "b.tar"], {
			cwd: place.folder.path,
			env,
		});
		expect([code, stderr]).toEqual([
			1,
			expect.stringMatching(/needs \d+ MB on the disk of the store .* 0 MB are free .*nothing was written/),
		]);
	});

	it("in a folder it has a name of its own, and --keep removes older ones", async (test) => {
		const here = await managed(test, () => EXTERNAL);
		const backups = join(here.cwd, "backups");
		mkdirSync(backups);
		const old = ["sluice-20250101T000000Z.tar", "sluice-20250102T000000Z.tar", "other.tar"];
		for (const name of old) writeFileSync(join(backups, name), "");
		const { stdout } = await here.ask("backup", `${backups}/`, "--keep", "2", "--json");
		const made = JSON.parse(stdout) as { file: string; removed: string[]; format: number };
		expect(made).toMatchObject({ format: 1, removed: ["sluice-20250101T000000Z.tar"] });
		expect(readdirSync(backups).toSorted()).toEqual(
			["other.tar", "sluice-20250102T000000Z.tar", made.file.split("/").at(-1)!].toSorted(),
		);
		const wrong = await here.ask("backup", join(here.cwd, "b.tar"), "--keep", "2");
		expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/--keep needs a folder/)]);
	});
});

describe.skipIf(ON_POSTGRES)("D46: verify and restore", () => {
	it("refuse what was truncated or changed, and leave nothing", async (test) => {
		const here = await backedUp(test);
		const bytes = readFileSync(here.file);
		const flipped = Buffer.from(bytes);
		flipped[Math.floor(bytes.length / 2)]! ^= 1;
		const bad = {
			truncated: bytes.subarray(0, bytes.length - 3000),
			flipped,
			empty: Buffer.alloc(0),
		};
		for (const [name, content] of Object.entries(bad)) {
			const file = join(here.cwd, `${name}.tar`);
			writeFileSync(file, content);
			const store = join(here.cwd, name, "s.db");
			for (const args of [
				["verify", file],
				["restore", file, "--store", `sqlite:${store}`],
			]) {
				const { code, stderr } = await here.ask(...args);
				expect([name, code, stderr]).toEqual([
					name,
					1,
					expect.stringMatching(/is not a complete backup: |is neither a backup/),
				]);
			}
			expect(readdirSync(dirname(store))).toEqual([]);
		}
		expect(readdirSync(here.cwd).filter((name) => name.startsWith("."))).toEqual([]);
	});

	it("a restore never replaces a store, also not its log", async (test) => {
		const here = await backedUp(test);
		for (const name of ["s.db", "s.db-wal"]) {
			const store = join(here.cwd, name, "s.db");
			mkdirSync(dirname(store));
			writeFileSync(join(dirname(store), name), "old");
			const { code, stderr } = await here.ask("restore", here.file, "--store", `sqlite:${store}`);
			expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} exists; a restore never`)]);
			expect(readFileSync(join(dirname(store), name), "utf8")).toBe("old");
		}
	});

	it("a backup of a newer schema is refused with a sentence", async (test) => {
		const here = await backedUp(test);
		const store = join(here.cwd, "new", "s.db");
		expect((await here.ask("restore", here.file, "--store", `sqlite:${store}`)).code).toBe(0);
		const db = new DatabaseSync(store);
		db.exec("INSERT INTO migrations VALUES (9999, '9999_later.sql')");
		db.close();
		const again = site(test);
		copyFileSync(store, join(again.folder.path, "sluice.db"));
		copyFileSync(join(here.cwd, "sluice.db.secret"), join(again.folder.path, "sluice.db.secret"));
		const sentence = /was made by a newer version of Sluice: it is at migration 9999/;
		await expect(again.serve({ endpoints: EXTERNAL })).rejects.toThrow(sentence);
		expect((await here.ask("verify", store)).stderr).toMatch(sentence);
	});

	it("a store of a running service is not checked; of a stopped one it is", async (test) => {
		const here = await backedUp(test);
		const store = join(here.cwd, "sluice.db");
		const busy = await here.ask("verify", store);
		expect([busy.code, busy.stderr]).toEqual([1, expect.stringMatching(/is in use by another process/)]);
		await here.service.end("SIGKILL");
		const { stdout } = await here.ask("verify", store);
		expect(stdout).toMatch(/is sound\.\n[^]*jobs +3, 3 IN_QUEUE\n[^]*key +\S+\.secret fits/);
	});

	it("a copy with a new identity opens its secrets; without the key it is refused", async (test) => {
		const here = await backedUp(test);
		const identity = (path: string): unknown => {
			const db = new DatabaseSync(path);
			const found = db.prepare("SELECT value FROM meta WHERE name = 'identity'").get();
			db.close();
			return found;
		};
		const next = site(test);
		const args = (path: string): string[] => [...["restore", here.file, "--store", `sqlite:${path}`, "--new-identity"]];
		const none = join(here.cwd, "none", "s.db");
		expect((await here.ask(...args(none))).stderr).toMatch(/A new identity needs the key/);
		expect(readdirSync(dirname(none))).toEqual([]);
		const store = join(next.folder.path, "sluice.db");
		const key = ["--key-file", join(here.cwd, "sluice.db.secret")];
		expect((await here.ask(...args(store), ...key)).code).toBe(0);
		await here.service.end();
		expect(identity(store)).not.toEqual(identity(join(here.cwd, "sluice.db")));
		await next.serve({ endpoints: EXTERNAL });
	});

	it("D34, D46: beside its original a copy with a new identity leaves the workers there alone, and runs their jobs", {
		timeout: 60_000,
	}, async (test) => {
		const settings = { workersMin: 2, workersMax: 2, limits: "off" };
		const here = await managed(test, (place) => ({ ep: place.launched(settings) }));
		const { service, place } = here;
		const jobs = [await submit(service, { until: "go" }), await submit(service, { until: "go" })];
		const runs = await Promise.all(jobs.map((id) => started(place, id)));
		const file = join(here.cwd, "b.tar");
		expect((await here.ask("backup", file)).code).toBe(0);
		const next = site(test);
		const store = `sqlite:${join(next.folder.path, "sluice.db")}`;
		const key = join(here.cwd, "sluice.db.secret");
		const { code, stderr } = await here.ask("restore", file, "--store", store, "--key-file", key, "--new-identity");
		expect([code, stderr]).toEqual([0, expect.stringContaining("happened after the backup")]);
		const copy = await next.serve({ endpoints: { ep: next.launched(settings) } });
		next.allow("go");
		for (const id of jobs) {
			expect(await ended(copy, "ep", id)).toMatchObject({ status: "COMPLETED" });
			const { json } = await call(copy.url, `/v1/endpoints/ep/jobs/${id}`);
			expect(json, "it was not lost").toMatchObject({ attempts: [{ end: "released" }, { end: "completed" }] });
		}
		expect(runs.filter(({ pid }) => isAlive(pid)).length, "workers of the original").toBe(2);
		place.allow("go");
		for (const [at, id] of jobs.entries()) {
			const { status, output } = await ended(service, "ep", id);
			expect([status, output.pid]).toEqual(["COMPLETED", runs[at]!.pid]);
		}
		expect(copy.stderr()).not.toMatch(/taken over|another service/);
		await copy.end();
		expect(runs.filter(({ pid }) => isAlive(pid)).length).toBe(2);
	});

	it("of PostgreSQL they name its own tools", async (test) => {
		const at = folder();
		test.onTestFinished(at.remove);
		const env = { SLUICE_STORE: "postgres://u:secret@127.0.0.1:1/db" };
		const verify = await sluice(test, ["verify"], { cwd: at.path, env });
		expect([verify.code, verify.stderr]).toEqual([2, expect.stringMatching(/pg_amcheck/)]);
		const restore = await sluice(test, ["restore", "b.tar"], { cwd: at.path, env });
		expect([restore.code, restore.stderr]).toEqual([2, expect.stringMatching(/pg_restore/)]);
		expect(verify.stderr + restore.stderr).not.toContain("u:secret");
	});
});
