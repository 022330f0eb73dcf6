/**
 * PostgreSQL itself fails: killed, ended, without connections or room, read-only, or with others in
 * the way. What may succeed later is refused as such, and does.
 */
import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openDatabase } from "../../src/kernel/store/postgres/connection/database.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { type Runner, statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import { type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import type { TestDatabase } from "../support/postgres-databases.ts";
import { manualClock } from "../support/manual-clock.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { until } from "../support/until.ts";
import { everyCall } from "./every-call.ts";
import { TOLD_MS, timed, untilAnswered } from "./postgres-proxied.ts";
import { type Site, siteOf } from "./site.ts";

/** Of one store: for jobs, slow work, the cluster and signals, and three for reads. */
const CONNECTIONS = 7;

let server: PostgresServer;
let at: TestDatabase;
let store: Store;
let site: Site;
/** Of the database `postgres`, so that nothing done to the other one is done to it. */
let admin: Client;

beforeAll(async () => {
	server = await startPostgres();
});
afterAll(() => server?.remove());
beforeEach(async () => {
	at = await server.createDatabase();
	store = await openPostgres({ url: at.url, clock: systemClock });
	onTestFinished(() => store.close());
	site = siteOf(store);
	admin = new Client(server.adminUrl("postgres"));
	admin.on("error", () => {});
	await admin.connect();
	onTestFinished(() => admin.end());
});

/** Ends the connections of the store, one after the other or all at once. */
async function backends(): Promise<number[]> {
	const { rows } = await admin.query<{ pid: number }>(
		"SELECT pid FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend' ORDER BY pid",
		[at.name],
	);
	return rows.map(({ pid }) => pid);
}
const terminate = async (pids: readonly number[]): Promise<void> =>
	void (await admin.query("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", [pids]));

describe("PostgreSQL ends", () => {
	it.each([
		["killed", () => server.kill()],
		["stopped at once", () => server.stop("immediate")],
		["stopped", () => server.stop("fast")],
	] as const)("%s: calls are refused in time; what was acknowledged is there after the start", async (what, end) => {
		const kept = await Promise.all([site.add(), site.add()]);
		await end();
		const add = async (): Promise<void> => void kept.push(await site.add());
		let { fault, ms } = await timed(add);
		// Sessions of a killed server may still end a statement.
		while (fault === undefined) ({ fault, ms } = await timed(add));
		expect(fault).toMatchObject({ why: "unreachable" });
		expect(ms).toBeLessThan(TOLD_MS);
		await server.start();
		const began = performance.now();
		await untilAnswered(() => site.add());
		console.log(
			`${what}: refused after ${Math.round(ms)} ms, answers again ${Math.round(performance.now() - began)} ` +
				"ms after the start",
		);
		expect(await site.takeIds({ limit: kept.length + 1 })).toEqual(expect.arrayContaining(kept.map(({ id }) => id)));
	});

	it("each connection, whatever it is used for, is opened again: callers notice nothing", async () => {
		// Callers wait 1.5 s at most, and the database counts as silent after 1.2 s. For this store no time passes, or
		// a busy machine would use it up.
		await store.close();
		await until("no connection", async () => (await backends()).length === 0);
		store = await openPostgres({ url: at.url, clock: manualClock() });
		site = siteOf(store);
		const { id } = await site.running();
		const all = await until("each connection", async () => {
			const pids = await backends();
			return pids.length === CONNECTIONS && pids;
		});
		for (const pid of all) {
			await terminate([pid]);
			const ends = await Promise.all(
				[
					site.add(),
					site.get(id),
					site.counts(),
					store.ping(),
					store.jobs.list({ endpoint: site.endpoint, filter: {}, erased: false, limit: 1, now: 0 }),
				].map((asked) => timed(() => asked)),
			);
			expect(ends.filter(({ fault }) => fault !== undefined)).toEqual([]);
		}
		// A process of the database ends a moment after its signal.
		await until("other connections only", async () => (await backends()).every((pid) => !all.includes(pid)));
	});
});

describe("PostgreSQL does not serve", () => {
	it("no connection is left (53300): refused in time, and it goes on when there is one", async () => {
		await admin.query(`ALTER DATABASE ${at.name} CONNECTION LIMIT 0`);
		await terminate(await backends());
		const { fault, ms } = await timed(() => site.add());
		expect(fault).toMatchObject({
			why: "unreachable",
			message: expect.stringContaining("too many connections"),
		});
		expect(ms).toBeLessThan(TOLD_MS);
		await admin.query(`ALTER DATABASE ${at.name} CONNECTION LIMIT -1`);
		await untilAnswered(() => site.add());
	});

	it.each([0, 4])("a start with %i connections (53300) is refused with the number that it needs", async (limit) => {
		await store.close();
		await admin.query(`ALTER DATABASE ${at.name} CONNECTION LIMIT ${limit}`);
		const opening = openPostgres({ url: at.url, clock: systemClock });
		await expect(opening).rejects.toMatchObject({
			why: "unreachable",
			message: expect.stringMatching(/too many connections .*; each server needs ten \(max_conn/),
		});
		await until("no connection", async () => (await backends()).length === 0);
		await admin.query(`ALTER DATABASE ${at.name} CONNECTION LIMIT -1`);
		store = await openPostgres({ url: at.url, clock: systemClock });
		await siteOf(store).add();
	});

	it("read-only, as a standby (25006): refused in time, until it is a primary", async () => {
		await admin.query(`ALTER DATABASE ${at.name} SET default_transaction_read_only = on`);
		await terminate(await backends());
		const { fault, ms } = await timed(() => site.add());
		expect(fault).toMatchObject({
			why: "unreachable",
			message: expect.stringContaining("read-only"),
		});
		expect(ms).toBeLessThan(TOLD_MS);
		await admin.query(`ALTER DATABASE ${at.name} RESET default_transaction_read_only`);
		await untilAnswered(() => site.add());
	});

	it("a session holds a row for too long (lock_timeout): `busy`, and later it goes on", async () => {
		const { id } = await site.running();
		const other = new Client(server.adminUrl(at.name));
		await other.connect();
		await other.query("BEGIN");
		await other.query("SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE", [id]);
		const { fault } = await timed(() => site.report(id));
		expect(fault).toMatchObject({ why: "busy" });
		await other.end();
		expect(await site.report(id)).toMatchObject({ ok: true });
	});
});

describe("the disk is full", () => {
	/**
	 * A place for a database that can be filled: a small file system where this machine lets us mount
	 * one.
	 */
	function disk(): { path: string; fill: () => void; free: () => void } | undefined {
		const path = mkdtempSync(join(tmpdir(), "sluice-disk-"));
		const end = (): void => rmSync(path, { recursive: true, force: true });
		try {
			execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m", "sluice-test", path], {
				stdio: "pipe",
			});
		} catch {
			end();
			return undefined;
		}
		onTestFinished(() => {
			execFileSync("umount", ["-l", path]);
			end();
		});
		const owner = statSync(server.dataDir);
		chownSync(path, owner.uid, owner.gid);
		const filler = join(path, "filler");
		return {
			path,
			fill() {
				for (let size = 1 << 20; size >= 4096; ) {
					try {
						writeFileSync(filler, Buffer.alloc(size), { flag: "a" });
					} catch {
						size >>= 1;
					}
				}
			},
			free: () => rmSync(filler),
		};
	}

	it("D40: writes are refused as `full`, reads go on, and it goes on when there is room", async ({ skip }) => {
		const place = disk();
		if (!place) return skip("mounting a file system needs root");
		const { id } = await site.add({ input: '"kept"' });
		const moving = await server.createDatabase();
		await admin.query(`CREATE TABLESPACE small LOCATION '${place.path}'`);
		await admin.query(`ALTER DATABASE ${moving.name} SET TABLESPACE small`);
		const small = await openPostgres({ url: moving.url, clock: systemClock });
		onTestFinished(async () => {
			await small.close();
			await moving.drop();
			await admin.query("DROP TABLESPACE small");
		});
		const there = siteOf(small);
		const kept = await there.add({ input: '"kept"' });
		place.fill();
		const large = `"${Array.from({ length: 20_000 }, () => Math.random().toString(36).slice(2)).join("")}"`;
		let fault: unknown;
		while (fault === undefined) ({ fault } = await timed(() => there.add({ input: large })));
		expect(fault).toBeInstanceOf(StoreUnavailable);
		expect(fault).toMatchObject({ why: "full" });
		expect(await there.state(kept.id)).toBe("IN_QUEUE");
		expect((await there.list()).jobs.length).toBeGreaterThan(0);
		expect(await site.state(id)).toBe("IN_QUEUE");
		place.free();
		await untilAnswered(() => there.add({ input: large }));
		expect(await there.takeIds({ limit: 1 })).toEqual([kept.id]);
	});
});

describe("transactions in each other's way", () => {
	const make = statement("CREATE TABLE IF NOT EXISTS crossed (id int PRIMARY KEY, n int NOT NULL)");
	const fill = statement("INSERT INTO crossed VALUES (1, 0), (2, 0)");
	const add = statement("UPDATE crossed SET n = n + 1 WHERE id = $1");
	const sum = statement("SELECT sum(n)::int FROM crossed");
	// At READ COMMITTED none can be provoked, and no other level is used.
	const unserializable = statement(
		"DO $$ BEGIN RAISE EXCEPTION 'another one was in the way' USING ERRCODE = 'serialization_failure'; END $$",
	);

	/**
	 * Two servers' connections, and a way for their transactions to meet in the middle, the first
	 * time each.
	 */
	async function pair(): Promise<{
		run: (work: (runner: Runner, n: number, meet: () => Promise<void>) => Promise<void>) => Promise<number>;
	}> {
		const databases = [0, 1].map(() => openDatabase({ url: at.url, clock: systemClock }));
		onTestFinished(async () => void (await Promise.all(databases.map((each) => each.close()))));
		await databases[0]!.write(async ({ run }) => {
			await run(make);
			await run(fill);
		});
		return {
			async run(work) {
				const met = Promise.withResolvers<void>();
				let there = 0;
				let runs = 0;
				await Promise.all(
					databases.map((each, n) =>
						each.write(async (runner) => {
							runs += 1;
							await work(runner, n, async () => {
								if ((there += 1) === 2) met.resolve();
								await met.promise;
							});
						}),
					),
				);
				return runs;
			},
		};
	}

	it("a deadlock (40P01): the victim is run again, both are done once", async () => {
		const { run } = await pair();
		const runs = await run(async (runner, n, meet) => {
			await runner.run(add, [1 + n]);
			await meet();
			await runner.run(add, [2 - n]);
		});
		expect(runs).toBeGreaterThanOrEqual(3);
		const { rows } = await openedRead().run(sum);
		expect(rows).toEqual([[4]]);
	});

	it("a serialisation failure (40001): the same, and nothing of the first run is left", async () => {
		const { run } = await pair();
		let failed = false;
		const runs = await run(async (runner, n) => {
			await runner.run(add, [1 + n]);
			if (n === 1 && !failed) {
				failed = true;
				await runner.run(unserializable);
			}
		});
		expect(runs).toBe(3);
		const { rows } = await openedRead().run(sum);
		expect(rows).toEqual([[2]]);
	});

	function openedRead(): Runner {
		const database = openDatabase({ url: at.url, clock: systemClock });
		onTestFinished(() => database.close());
		return database.read;
	}
});

describe("D17: settings of each connection", () => {
	const show = statement("SHOW synchronous_commit");

	it.each([
		["off", "on"],
		["local", "on"],
		["on", "on"],
		["remote_apply", "remote_apply"],
	])("synchronous_commit of a role is %s: it is %s", async (given, kept) => {
		await admin.query(`ALTER ROLE sluice SET synchronous_commit = ${given}`);
		onTestFinished(async () => void (await admin.query("ALTER ROLE sluice RESET synchronous_commit")));
		const database = openDatabase({ url: at.url, clock: systemClock });
		onTestFinished(() => database.close());
		const answers = await Promise.all([
			database.hot.run(show),
			database.write(({ run }) => run(show)),
			...[1, 2, 3].map(() => database.read.run(show)),
			database.another().run(show),
		]);
		expect(answers.map(({ rows }) => rows[0]?.[0])).toEqual(answers.map(() => kept));
	});
});

it("every operation works again after all of that", async () => {
	for (const [name, call] of Object.entries(everyCall(store)))
		expect({ name, ...(await timed(call)) }).toMatchObject({ name, fault: undefined });
});
