/** Copies of a SQLite store that is in use (D46), and the check of a store. */
import { execFileSync } from "node:child_process";
import {
	createWriteStream,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	readdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { PART, PLACE_DOCUMENT } from "../../src/kernel/store/contract/files.ts";
import type { StoreCopy, Store } from "../../src/kernel/store/contract/store.ts";
import { verify } from "../../src/kernel/store/sqlite/file/verify.ts";
import { fileRow } from "./files.ts";
import { type Site, siteOf, T0 } from "./site.ts";

const NEVER = new AbortController().signal;
const LARGE = [new TextEncoder().encode(JSON.stringify("x".repeat(200_000)))];

function newPath(): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-backup-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return join(folder, "sluice.db");
}

async function open(path: string): Promise<Store> {
	const store = await openSqlite({ path });
	onTestFinished(() => store.close());
	return store;
}

/** The copy as a store. */
async function written(copy: StoreCopy): Promise<string> {
	const path = newPath();
	for (const folder of ["payloads", "files"]) mkdirSync(`${path}.${folder}`);
	for (const { name, read } of copy.files)
		await pipeline(read(), createWriteStream(name === "sluice.db" ? path : `${path}.${name}`));
	await copy.close();
	return path;
}

const copyOf = async (store: Store): Promise<string> =>
	written(await store.backup!.copy({ signal: NEVER, progress() {} }));

/** Jobs in every state, with large and small payloads, chunks and a webhook. */
async function furnished(store: Store): Promise<Site> {
	const site = siteOf(store);
	const done = await site.running({
		webhook: "https://a.example/",
		input: LARGE.map((b) => b.slice()),
	});
	await store.chunks.append({
		endpoint: site.endpoint,
		id: done.id,
		worker: "w1",
		chunks: ["1", "2"],
		unlessLast: false,
		now: T0,
	});
	await site.report(done.id, { output: LARGE.map((block) => block.slice()) });
	const failed = await site.running({ input: '"é😀"' });
	await site.report(failed.id, { on: "fail", error: "no" });
	await site.running();
	await site.add({ lowPriority: true });
	await site.add();
	await store.endpoints.put({ id: site.endpoint, settings: "{}", now: T0 });
	return site;
}

describe("D46: a copy of a store in use", () => {
	it("is sound, has all that was acknowledged before, and is a store", async () => {
		const store = await open(newPath());
		const site = await furnished(store);
		const path = await copyOf(store);
		expect(await verify(path, { migrate: false })).toMatchObject({
			problems: [],
			notes: [],
			summary: {
				jobs: 5,
				byState: { COMPLETED: 1, FAILED: 1, IN_PROGRESS: 1, IN_QUEUE: 2 },
				endpoints: [site.endpoint],
				pendingDeliveries: 1,
			},
		});
		const copy = await open(path);
		expect(await copy.identity()).toBe(await store.identity());
		const query = { endpoint: site.endpoint, now: T0 };
		expect(await copy.jobs.counts(query)).toEqual(await store.jobs.counts(query));
	});

	it("D17: of copies made while jobs come and go, each has those from before and a whole state", {
		timeout: 60_000,
	}, async () => {
		const store = await open(newPath());
		const site = siteOf(store);
		const input = JSON.stringify("x".repeat(3000));
		for (let n = 0; n < 2000; n += 1) await Promise.all([site.add({ input }), site.add()]);
		let over = false;
		const acknowledged: string[] = [];
		const working = (async () => {
			while (!over) {
				const added = await Promise.all([site.add({ input }), site.add()]);
				acknowledged.push(...added.map(({ id }) => id));
				for (const { job } of (await site.take({ limit: 2 })).jobs) await site.report(job.id, { output: input });
			}
		})();
		for (let round = 0; round < 5; round += 1) {
			const before = [...acknowledged];
			const path = await copyOf(store);
			expect((await verify(path, { migrate: false })).problems).toEqual([]);
			const db = new DatabaseSync(path);
			const has = db.prepare("SELECT count(*) AS n FROM jobs WHERE id = ?");
			for (const id of before) expect(has.get(id)).toEqual({ n: 1 });
			// The mark of a file that needs its log (0031) is never in a copy.
			expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 0 });
			db.close();
		}
		over = true;
		await working;
		expect(acknowledged.length).toBeGreaterThan(10);
	});

	it("D56, D57: has the bytes of all files and parts that it has rows of, also of one removed meanwhile", async () => {
		const path = newPath();
		const store = await open(path);
		const { endpoint } = await furnished(store);
		const folder = store.filesFolder!;
		mkdirSync(folder.path);
		const rows = ["first", "second"].map((name, n) =>
			fileRow({ endpoint, name, bytes: name.length, purpose: ["batch", PART][n]! }),
		);
		for (const row of rows) {
			writeFileSync(join(folder.path, row.id), row.name);
			await store.files.insert({ row, endpointBytes: 99, totalBytes: 99 });
		}
		writeFileSync(join(folder.path, `${rows[0]!.id}.part`), "unfinished");
		const copy = await store.backup!.copy({ signal: NEVER, progress() {} });
		await store.files.remove({ endpoint, id: rows[0]!.id, now: T0 });
		await folder.remove(rows[0]!.id);
		const restored = await written(copy);
		expect(await verify(restored, { migrate: false })).toMatchObject({ problems: [], summary: { files: 2 } });
		expect(readdirSync(`${restored}.files`).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
		await expect.poll(() => existsSync(join(folder.path, rows[0]!.id))).toBe(false);
		writeFileSync(join(`${restored}.files`, rows[1]!.id), "sec");
		const { problems } = await verify(restored, { migrate: false });
		expect(problems).toEqual([`1 files are not whole in ${restored}.files: ${rows[1]!.id}.`]);
	});

	it("D46, D61: files in a bucket are not in it, and no fault of it", async () => {
		const store = await open(newPath());
		const { endpoint } = await furnished(store);
		const to = JSON.stringify({ name: "http://b/kept/" });
		await store.documents.replace({ name: PLACE_DOCUMENT, from: undefined, to });
		const rows = ["there", "here"].map((name) => fileRow({ endpoint, name, bytes: name.length }));
		for (const row of rows) await store.files.insert({ row, endpointBytes: 99, totalBytes: 99 });
		const restored = await written(await store.backup!.copy({ signal: NEVER, progress() {} }));
		writeFileSync(join(`${restored}.files`, rows[1]!.id), "here");
		const note = "1 of 2 files are in the bucket http://b/kept/, which was not checked.";
		expect(await verify(restored, { migrate: false })).toMatchObject({ problems: [], notes: [note] });
		writeFileSync(join(`${restored}.files`, rows[1]!.id), "he");
		expect(await verify(restored, { migrate: false })).toMatchObject({
			problems: [`1 files are not whole in ${restored}.files: ${rows[1]!.id}.`],
			notes: [note],
		});
	});

	it("one that is stopped leaves nothing, and the next one is made", async () => {
		const path = newPath();
		const store = await open(path);
		const site = siteOf(store);
		const input = JSON.stringify("x".repeat(60_000));
		for (let n = 0; n < 400; n += 1) await site.add({ input });
		const left = new AbortController();
		const reason = new Error("The client has left.");
		const stopped = store.backup!.copy({ signal: left.signal, progress: () => left.abort(reason) });
		await expect(stopped).rejects.toBe(reason);
		expect(readdirSync(dirname(path)).toSorted()).toEqual(["sluice.db", "sluice.db-wal"]);
		expect((await verify(await copyOf(store), { migrate: false })).problems).toEqual([]);
	});

	it("closing the store stops it", async () => {
		const path = newPath();
		const store = await open(path);
		const site = siteOf(store);
		const input = JSON.stringify("x".repeat(60_000));
		for (let n = 0; n < 400; n += 1) await site.add({ input });
		let closed: Promise<void> | undefined;
		const stopped = store.backup!.copy({
			signal: NEVER,
			progress: () => void (closed ??= store.close()),
		});
		await expect(stopped).rejects.toThrow(/stopped|closed/);
		await closed;
		expect(readdirSync(dirname(path))).toEqual(["sluice.db"]);
	});

	it("what a crash left of one is removed at the next start, and nothing else", async () => {
		const path = newPath();
		await (await openSqlite({ path })).close();
		const folder = dirname(path);
		const left = [".sluice.db.backup.tmp", ".sluice.db.backup.tmp-journal"];
		const others = ["sluice.db.backup", "other.db"];
		for (const name of [...left, ...others]) writeFileSync(join(folder, name), "x");
		await open(path);
		for (const name of left) expect(existsSync(join(folder, name)), name).toBe(false);
		for (const name of others) expect(existsSync(join(folder, name)), name).toBe(true);
	});

	it("D17: a disk that becomes full ends it, and not the store", async (test) => {
		const folder = dirname(newPath());
		const disk = join(folder, "disk");
		mkdirSync(disk);
		try {
			execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "sluice-test", disk]);
		} catch {
			return test.skip("a small disk needs root");
		}
		onTestFinished(() => void execFileSync("umount", ["-l", disk]));
		const store = await openSqlite({ path: join(disk, "sluice.db") });
		const site = siteOf(store);
		const input = JSON.stringify("x".repeat(60_000));
		for (let n = 0; n < 160; n += 1) await site.add({ input });
		await expect(store.backup!.copy({ signal: NEVER, progress() {} })).rejects.toThrow(/full|disk/);
		expect(readdirSync(disk).toSorted()).toEqual(["sluice.db", "sluice.db-wal"]);
		await site.add();
		expect((await site.take()).jobs).toHaveLength(1);
		await store.close();
	});
});

/** Damage by its statement, and the problem that names it. */
const DAMAGE: [string, RegExp][] = [
	["DELETE FROM inputs WHERE seq = (SELECT max(seq) FROM jobs)", /^1 jobs have no input: \S+\.$/],
	["DELETE FROM queues", /jobs belong to no queue/],
	["INSERT INTO inputs (seq, input) VALUES (999, '1')", /^1 inputs belong to no job: 999\.$/],
	["INSERT INTO results (seq, output) VALUES (999, '1')", /results belong to no job/],
	["INSERT INTO chunks (seq, number, body) VALUES (999, 0, '1')", /chunks belong to no job/],
	[
		`INSERT INTO attempts (seq, attempt, worker, started_at, ended_at, outcome, open, missed)
			VALUES (999, 1, 'w', 1, 2, 'lost', 0, 0)`,
		/attempts belong to no job/,
	],
	["DELETE FROM payloads WHERE number = (SELECT input FROM inputs LIMIT 1)", /inputs are incomplete/],
	["DELETE FROM payloads WHERE number = (SELECT output FROM results LIMIT 1)", /results are incomplete/],
	["UPDATE delivery_bodies SET payload = 9999", /bodies of webhooks are incomplete/],
	["UPDATE payloads SET refs = 1", /^1 large payloads count other references than they have: 2\.$/],
	[
		"UPDATE payloads SET sum = sum + 1 WHERE number = 2",
		/^1 large payloads in \S+\.payloads\/1 are not as they were written: at byte 200002\.$/,
	],
	[
		"UPDATE payloads SET length = length + 1 WHERE number = 2",
		/^1 large payloads in \S+\.payloads\/1 are not as they were written: at byte 200002\.$/,
	],
	["UPDATE payloads SET segment = 7", /\.payloads\/7 cannot be read: ENOENT/],
	[
		"UPDATE inputs SET input = replace(input, 'é', 'è') WHERE typeof(input) = 'text'",
		/^1 jobs have inputs that are not as they were written \(input\): \S+\.$/,
	],
	["UPDATE results SET error = 'na'", /results that are not as they were written \(error\)/],
	["UPDATE jobs SET next_chunk = 1", /^1 chunks have a number/],
	["UPDATE jobs SET ended_at = NULL WHERE state = 'FAILED'", /an end that does not fit/],
	["UPDATE jobs SET worker = NULL WHERE state = 'IN_PROGRESS'", /no worker or no lease/],
	["UPDATE queues SET in_queue = 7", /other numbers of waiting or running jobs/],
	["UPDATE queues SET in_queue_low = 0", /other numbers of waiting or running jobs/],
	["UPDATE queues SET in_progress = 0", /other numbers of waiting or running jobs/],
	["UPDATE queues SET stored_bytes = stored_bytes + 1", /another sum of stored bytes/],
	[
		"UPDATE jobs SET input_bytes = 900 WHERE seq = 3; " +
			"UPDATE queues SET stored_bytes = (SELECT sum(input_bytes + output_bytes) FROM jobs)",
		/another size of their input/,
	],
	["DELETE FROM delivery_bodies", /pending webhooks have no body/],
	["INSERT INTO delivery_bodies (number, body) VALUES (99, '1')", /bodies belong to no webhook/],
	[
		"INSERT INTO file_totals (endpoint, files, bytes) VALUES ('without', 0, 1)",
		/^1 endpoints count other files than they have: without\.$/,
	],
	["INSERT INTO file_totals (endpoint, files, bytes) VALUES ('without', 1, 0)", /other files than they have: without/],
	[
		"INSERT INTO files (id, endpoint, name, purpose, type, bytes, key, created_at) " +
			"VALUES ('f', 'uncounted', 'n', 'p', 't', 1, 'k', 1)",
		/^1 endpoints count other files than they have: uncounted\.$/m,
	],
	["UPDATE endpoints SET settings = '{'", /unreadable settings/],
	["INSERT INTO keys (id, hash, name, scopes, created_at) VALUES ('1', 'h', 'n', '[', 1)", /unreadable scopes/],
];

describe("D46: the check of a store", () => {
	it.each(DAMAGE)("finds: %s", async (sql, problem) => {
		const path = newPath();
		const store = await openSqlite({ path });
		await furnished(store);
		await store.close();
		expect((await verify(path, { migrate: false })).problems).toEqual([]);
		const db = new DatabaseSync(path);
		db.exec(sql);
		db.close();
		const { problems } = await verify(path, { migrate: false });
		expect(problems.join("\n")).toMatch(problem);
	});

	it("purged jobs that are still to be removed are no problem", async () => {
		const path = newPath();
		const store = await openSqlite({ path });
		const site = await furnished(store);
		await site.purge();
		await site.add();
		await store.close();
		expect((await verify(path, { migrate: false })).problems).toEqual([]);
	});

	it("a damaged page is a problem, another file an error", async () => {
		const path = newPath();
		const store = await openSqlite({ path });
		await furnished(store);
		await store.close();
		const bytes = readFileSync(path);
		// Pages of indexes and tables, whatever they are of.
		for (let page = 3; page < 30; page += 2) bytes.fill(0xff, page * 4096, page * 4096 + 200);
		writeFileSync(path, bytes);
		const { problems } = await verify(path, { migrate: false });
		expect(problems.length).toBeGreaterThan(0);
		const other = newPath();
		writeFileSync(other, "no database at all".repeat(1000));
		await expect(verify(other, { migrate: false })).rejects.toThrow("is not a SQLite database");
	});
});
