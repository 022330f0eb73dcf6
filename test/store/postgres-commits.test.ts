/**
 * What became of a COMMIT without an answer, and of one that was answered too early: the caller
 * gets the truth or that it is unknown, whatever happens to the database meanwhile
 * (decision 0017).
 */
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { isCommitted, type Marker } from "../../src/kernel/store/postgres/connection/commit-markers.ts";
import type { Session } from "../../src/kernel/store/postgres/connection/connection.ts";
import { type Database, openDatabase } from "../../src/kernel/store/postgres/connection/database.ts";
import { ConnectionLost, OutcomeUnknown } from "../../src/kernel/store/postgres/connection/errors.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { prepareSchema } from "../../src/kernel/store/postgres/schema.ts";
import { type Answer, statement, type Statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import { transaction } from "../../src/kernel/store/postgres/connection/transaction.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { siteOf } from "./site.ts";

/** Nothing but a commit flushes. */
const UNFLUSHED = {
	autovacuum: "off",
	wal_writer_delay: "10s",
	bgwriter_delay: "10s",
	checkpoint_timeout: "1h",
};

const MAKE = statement("CREATE TABLE IF NOT EXISTS done (run int NOT NULL)");
const DO = statement("INSERT INTO done VALUES ($1)");
const DONE = statement("SELECT run FROM done ORDER BY run");
const NUMBER = statement("SELECT pg_current_xact_id()::text");
const NOTHING = statement("SELECT 1");
const MARKERS = statement("SELECT count(*)::int FROM commit_markers");

let server: PostgresServer;
beforeAll(async () => {
	server = await startPostgres({ settings: UNFLUSHED });
	await admin((client) => client.query("CREATE TABLE others (number text)"));
});
afterAll(() => server?.remove());

async function place() {
	const { url, name } = await server.createDatabase();
	await prepareSchema({ url });
	const another = (): Database => {
		const database = openDatabase({ url, clock: systemClock });
		onTestFinished(() => database.close());
		return database;
	};
	const database = another();
	await database.write(({ run }) => run(MAKE));
	return {
		url,
		name,
		database,
		another,
		done: async () => (await database.read.run(DONE)).rows.flat(),
	};
}

/** A session whose end goes through `end` instead: `asked` is its marker or its COMMIT. */
function ending(session: Session, end: (asked: Statement, send: () => Promise<Answer>) => Promise<Answer>): Session {
	return {
		...session,
		run(asked, values) {
			const send = (): Promise<Answer> => session.run(asked, values);
			return asked.text === "COMMIT" || asked.text.includes("INTO commit_markers AS known") ? end(asked, send) : send();
		},
	};
}

/** A clock that gives all the time that is needed. */
const patient = { ...systemClock, now: () => 0 };

async function admin<T>(work: (client: Client) => Promise<T>, database = "postgres"): Promise<T> {
	const client = new Client(server.adminUrl(database));
	await client.connect();
	try {
		return await work(client);
	} finally {
		await client.end();
	}
}

/** Commits other transactions until one of them has this number. */
const reuse = (number: number): Promise<void> =>
	admin(async (client) => {
		for (let given = 0; given < number; )
			given = Number(
				(
					await client.query<{ number: string }>(
						"INSERT INTO others VALUES (pg_current_xact_id()::text) RETURNING number",
					)
				).rows[0]?.number,
			);
		expect(
			(await client.query("SELECT 1 FROM others WHERE number = $1", [String(number)])).rows,
			"the number is given again",
		).toHaveLength(1);
	});

describe("a COMMIT without an answer", () => {
	it("D17: a transaction of which a crash left no trace is done again, though its number was reused", async () => {
		const { database, done } = await place();
		let runs = 0;
		let number: number | undefined;
		let crashed = false;
		const session = async (waitMs?: number): Promise<Session> => {
			const real = await database.hot.session(waitMs);
			return ending(real, async ({ text }, send) => {
				if (text !== "COMMIT" || crashed) return await send();
				crashed = true;
				// All before it is done, and nothing of it is on the disk.
				await real.run(NOTHING);
				await server.crash();
				await server.start();
				await reuse(number!);
				return await send();
			});
		};
		await transaction({ connection: { session, drop: database.hot.drop }, clock: patient }, async ({ run }) => {
			runs += 1;
			await run(DO, [runs]);
			number ??= Number((await run(NUMBER)).rows[0]?.[0]);
		});
		expect([runs, await done()]).toEqual([2, [2]]);
	});

	/**
	 * Runs a transaction whose first session is held before `before`, and is lost for its caller.
	 * `arrive` lets what was held reach the server.
	 */
	async function held(before: "marker" | "commit") {
		const { database, another, done } = await place();
		const next = another();
		const waiting: (() => Promise<Answer>)[] = [];
		let marker: Marker | undefined;
		let first = true;
		const session = async (waitMs?: number): Promise<Session> => {
			if (!first) return await next.hot.session(waitMs);
			first = false;
			const real = await database.hot.session(waitMs);
			const cut = ending(real, async ({ text }, send) => {
				if (before === "commit" && text !== "COMMIT") return await send();
				waiting.push(send);
				throw new ConnectionLost("cut");
			});
			return { ...cut, nextMarker: () => (marker = real.nextMarker()) };
		};
		let runs = 0;
		const began = performance.now();
		const result = await transaction(
			{ connection: { session, drop: next.hot.drop }, clock: systemClock },
			async ({ run }) => {
				runs += 1;
				await run(DO, [runs]);
				return runs;
			},
		).catch((error: unknown) => error);
		const ms = performance.now() - began;
		return {
			result,
			ms,
			done,
			marker: marker!,
			next,
			arrive: async () => await Promise.allSettled(waiting.map((send) => send())),
		};
	}

	it("D17: one whose marker has not arrived when it is asked for is undone, also when it arrives later", async () => {
		const { result, done, arrive } = await held("marker");
		expect([result, await done()]).toEqual([2, [2]]);
		const [marked, ended] = await arrive();
		expect(marked).toMatchObject({ status: "rejected", reason: { code: "23502" } });
		expect(ended).toMatchObject({ status: "fulfilled", value: { command: "ROLLBACK" } });
		expect(await done()).toEqual([2]);
	});

	it("D17, D40: one that stays open is reported as unknown within 2 s; its outcome can be read later", async () => {
		const { result, ms, done, marker, next, arrive } = await held("commit");
		expect(result).toBeInstanceOf(OutcomeUnknown);
		expect(result).toMatchObject({ marker });
		expect(ms).toBeLessThan(2500);
		await arrive();
		expect(await done()).toEqual([1]);
		const ask = (serial: number): Promise<boolean> =>
			next.write((runner) => isCommitted(runner, { ...marker, serial }, 1000));
		expect([await ask(marker.serial), await ask(marker.serial + 1)]).toEqual([true, false]);
	});
});

describe("a commit that waits for a synchronous standby", () => {
	const set = (client: Client, standbys: string): Promise<unknown> =>
		client
			.query(`ALTER SYSTEM SET synchronous_standby_names = '${standbys}'`)
			.then(() => client.query("SELECT pg_reload_conf()"));

	/** Submits a job while there is no standby; resolves when its commit waits. */
	async function waiting() {
		const { url, name } = await server.createDatabase();
		// The warning arrives all the same.
		await admin((client) => client.query(`ALTER DATABASE ${name} SET client_min_messages = error`));
		const store: Store = await openPostgres({
			url,
			clock: systemClock,
		});
		onTestFinished(() => store.close());
		const site = siteOf(store);
		const client = new Client(server.adminUrl("postgres"));
		await client.connect();
		onTestFinished(async () => {
			await set(client, "");
			await client.end();
		});
		await set(client, "none");
		const idempotency = { key: "k", bodyHash: "h", keptMs: 60_000 };
		const submit = () => site.insert({ idempotency }).catch((error: unknown) => error);
		const submitted = submit();
		const pids = async (): Promise<number[]> =>
			(
				await client.query<{ pid: number }>(
					"SELECT pid FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'SyncRep'",
					[name],
				)
			).rows.map(({ pid }) => pid);
		let found: number[] = [];
		while (found.length === 0) found = await pids();
		const end = async (how: "cancel" | "terminate"): Promise<void> =>
			void (await client.query(`SELECT pg_${how}_backend($1)`, [found[0]]));
		return { site, submit, submitted, end, back: () => set(client, "") };
	}

	it.each(["cancel", "terminate"] as const)(
		"D17: a wait that is cut short (%s) acknowledges nothing; it is repeated once there is a standby",
		async (how) => {
			const { site, submit, submitted, end, back } = await waiting();
			await end(how);
			expect(await submitted).toMatchObject({ why: "unreachable", unsure: true });
			await back();
			expect(await submit()).toMatchObject({ ok: true, repeated: true });
			expect(await site.counts()).toMatchObject({ inQueue: 1 });
		},
	);

	it.each(["cancel", "terminate"] as const)(
		"D17: a wait that is cut short (%s) is made up for by a later commit that is replicated",
		async (how) => {
			const { site, submitted, end, back } = await waiting();
			await end(how);
			await back();
			const answer = await submitted;
			expect(answer).toMatchObject({ ok: true });
			expect(answer).not.toHaveProperty("repeated");
			expect(await site.counts()).toMatchObject({ inQueue: 1 });
		},
	);
});

it("a transaction that only reads leaves no marker; old ones are removed by a new session", async () => {
	const { name, database, another } = await place();
	const other = another();
	const count = async (): Promise<unknown> => (await database.read.run(MARKERS)).rows[0]?.[0];
	const before = await count();
	for (let n = 0; n < 3; n += 1) await other.write(({ run }) => run(DONE));
	expect(await count()).toBe(before);
	await admin(
		(client) =>
			client.query(
				"INSERT INTO commit_markers SELECT 'old ' || n, 1, false, now() - interval '31 days' " +
					"FROM generate_series(1, 150) AS n; INSERT INTO commit_markers VALUES ('young', " +
					"1, false, now() - interval '29 days')",
			),
		name,
	);
	const young = async (): Promise<unknown> =>
		(
			await database.read.run(
				statement(
					"SELECT count(*) FILTER (WHERE session LIKE 'old %'), count(*) FILTER (WHERE session " +
						"= 'young') FROM commit_markers",
				),
			)
		).rows[0];
	await another().write(({ run }) => run(DO, [1]));
	expect(await young()).toEqual([50, 1]);
	await another().write(({ run }) => run(DO, [1]));
	expect(await young()).toEqual([0, 1]);
});
