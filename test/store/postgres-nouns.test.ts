/**
 * Keys, tokens, workers and records of the servers, in PostgreSQL: which signals
 * other servers get, and what happens when several do it at once.
 */
import type { CheckKey } from "../../src/kernel/secrets/key-check.ts";
import { describe, expect, it } from "vitest";
import { openEndpoints } from "../../src/kernel/store/postgres/queries/endpoints.ts";
import { insertDeliveries } from "../../src/kernel/store/postgres/rows/deliveries.ts";
import { openMeta } from "../../src/kernel/store/postgres/open.ts";
import { statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import type { KeyRow } from "../../src/kernel/store/contract/access.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { keyCases } from "./keys.ts";
import { type Place, place, tablesAt } from "./postgres-place.ts";
import { sessionCases, sessionRow } from "./sessions.ts";
import { T0 } from "./site.ts";
import { until } from "../support/until.ts";

const key = (n: number, given: Partial<KeyRow> = {}): KeyRow => ({
	id: `key-${n}`,
	hash: `${n}`.padStart(64, "0"),
	name: `Key ${n}`,
	scopes: ["admin"],
	createdAt: T0,
	...given,
});

const WAITS = statement(
	"SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
);

/** Until one transaction waits for another. */
const aWait = ({ database }: Place): Promise<unknown> =>
	until("a wait for a lock", async () => (await database.read.run(WAITS)).rows[0]);

/** A store of a few nouns only, for the cases that need no others. */
async function open(): Promise<Store> {
	const here = await place({ onTestFinished: () => {} });
	return { ...tablesAt(here), close: () => here.database.close() } as Partial<Store> as Store;
}

describe("the contract of keys", () => {
	keyCases({ open, store: () => expect.fail("No case of keys shares a store.") });
});

describe("the contract of sessions", () => {
	sessionCases({ open, store: () => expect.fail("No case of sessions shares a store.") });
});

it("D30: of several servers one makes the first key, and of the last two admin keys one stays", async (test) => {
	const here = await place(test);
	const servers = [here.database, here.another(), here.another()].map(
		(database) => tablesAt({ ...here, database }).keys,
	);
	const made = await Promise.all(servers.map((keys, n) => keys.insert({ row: key(n), ifNone: true })));
	expect(made.filter(Boolean)).toHaveLength(1);
	const [one, other] = servers as [Store["keys"], Store["keys"]];
	for (const { id } of await one.list()) await one.remove({ id, now: T0 });
	for (const n of [1, 2]) await one.insert({ row: key(n), ifNone: false });
	const removed = await Promise.all([
		one.remove({ id: "key-1", keep: "admin", now: T0 }),
		other.remove({ id: "key-2", keep: "admin", now: T0 }),
	]);
	expect(removed.toSorted()).toEqual(["last", "removed"]);
});

it("D30, D26: other servers are notified of keys and tokens that end, and of nothing else", async (test) => {
	const here = await place(test);
	const { keys, tokens } = tablesAt(here);
	await keys.insert({ row: key(1), ifNone: false });
	await keys.used({ id: "key-1", now: T0 });
	await tokens.put({ hash: "h", endpoint: "a", worker: "w", createdAt: T0 });
	expect(await keys.remove({ id: "key-1\u0000", now: T0 })).toBe("missing");
	expect(await keys.remove({ id: "key-1", keep: "admin", now: T0 })).toBe("last");
	await tokens.remove({ worker: "none" });
	expect(here.others).toEqual([]);
	await keys.remove({ id: "key-1", now: T0 });
	await tokens.remove({ worker: "w" });
	expect([here.own, here.others]).toEqual([[], [{ kind: "access" }, { kind: "access" }]]);
});

it("D31: other servers are notified of sessions that end, and of nothing else", async (test) => {
	const here = await place(test);
	const { sessions } = tablesAt(here);
	for (const n of [1, 2, 3]) await sessions.insert({ row: sessionRow(n), atMost: 9, usedSince: T0, now: T0 });
	await sessions.used({ id: "session-1", now: T0 + 9, address: "" });
	await sessions.remove({ id: "none" });
	await sessions.removeAll({ keyId: "none" });
	expect(here.others).toEqual([]);
	await sessions.remove({ id: "session-1" });
	await sessions.removeAll({});
	expect([here.own, here.others]).toEqual([[], [{ kind: "access" }, { kind: "access" }]]);
});

it("D39: other servers are notified when an endpoint changes, and of its tokens when it is forgotten", async (test) => {
	const here = await place(test);
	const endpoints = {
		...tablesAt(here).endpoints,
		...openEndpoints({ ...here, settle: async () => ({ settled: 0 }) }),
	};
	const signalsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
		await work();
		return here.others.splice(0).map(({ kind }) => kind);
	};
	expect(await signalsOf(() => endpoints.put({ id: "a", settings: "{}", now: T0 }))).toEqual(["endpoints"]);
	expect(await signalsOf(() => endpoints.pause({ id: "a", paused: true }))).toEqual(["endpoints"]);
	expect(await signalsOf(() => endpoints.pause({ id: "none", paused: true }))).toEqual([]);
	expect(await signalsOf(() => endpoints.forget({ id: "a", now: T0 }))).toEqual([]);
	expect(await signalsOf(() => endpoints.remove({ id: "a" }))).toEqual(["endpoints"]);
	expect(await signalsOf(() => endpoints.forget({ id: "a", now: T0 }))).toEqual(["endpoints", "access"]);
	expect(await signalsOf(() => endpoints.forget({ id: "a", now: T0 }))).toEqual([]);
	expect(here.own).toEqual([]);
});

it("D27: put › is not made where an earlier version creates the endpoint at the same moment", async (test) => {
	const here = await place(test);
	const { endpoints, releases } = tablesAt(here);
	const { promise: committing, resolve: commit } = Promise.withResolvers<void>();
	const inserted = Promise.withResolvers<void>();
	// It takes no lock of the table.
	const earlier = here.another().write(async ({ run }) => {
		await run(statement("INSERT INTO endpoints (id, settings, created_at) VALUES ('a', 'earlier', 1)"));
		inserted.resolve();
		await committing;
	});
	await inserted.promise;
	const release = {
		endpoint: "a",
		version: 1,
		launchHash: "h",
		state: "unproven",
		failures: 0,
		source: "api",
	} as const;
	const add = [{ ...release, createdAt: T0, diff: "[]", settings: "{}" }];
	const made = endpoints.put({ id: "a", settings: "late", releases: { add, remove: [] }, now: T0 });
	await aWait(here);
	commit();
	await earlier;
	expect(await made).toBe(false);
	expect([await endpoints.list(), await releases.heads()]).toMatchObject([[{ settings: "earlier" }], []]);
});

it.for(["a submission", "the end of a job with a webhook"])(
	"D39: forget › waits for %s at another server that is not through yet, and counts it",
	async (change, test) => {
		const here = await place(test);
		const endpoints = {
			...tablesAt(here).endpoints,
			...openEndpoints({ ...here, settle: async () => ({ settled: 0 }) }),
		};
		await endpoints.put({ id: "a", settings: "{}", now: T0 });
		await endpoints.remove({ id: "a" });
		const isEnd = change !== "a submission";
		await here.database.write(({ run }) =>
			run(statement("INSERT INTO queue_counts (endpoint, slot, in_progress) VALUES ('a', 1, $1)"), [Number(isEnd)]),
		);
		const { promise: committing, resolve: commit } = Promise.withResolvers<void>();
		const counted = Promise.withResolvers<void>();
		const changed = here.another().write(async ({ run }) => {
			const delivery = {
				id: "msg_1",
				endpoint: "a",
				job: "j",
				url: "http://h/",
				receiver: "h",
				body: "",
				createdAt: T0,
			};
			if (isEnd) await insertDeliveries(run, [delivery]);
			const counts = isEnd ? "in_progress = 0" : "in_queue = in_queue + 1";
			await run(statement(`UPDATE queue_counts SET ${counts} WHERE endpoint = 'a'`));
			counted.resolve();
			await committing;
		});
		await counted.promise;
		const forgotten = endpoints.forget({ id: "a", now: T0 });
		await aWait(here);
		commit();
		await changed;
		expect(await forgotten).toBe(false);
	},
);

it("workers are kept as they were given", async (test) => {
	const rows = tablesAt(await place(test)).workers;
	const one = {
		id: "a",
		endpoint: "e",
		launcher: "process",
		handle: '{"pid":1}',
		url: "http://127.0.0.1:1",
		createdAt: T0,
	};
	const two = { id: "b", endpoint: "e", launcher: "external", createdAt: T0 };
	for (const row of [two, one, { ...one, url: "http://127.0.0.1:2" }]) await rows.put(row);
	expect(await rows.list()).toEqual([{ ...one, url: "http://127.0.0.1:2" }, two]);
	await rows.remove({ id: "a" });
	await rows.remove({ id: "none" });
	expect(await rows.list()).toEqual([two]);
});

describe("meta", () => {
	/** As of a server with this key. */
	const checkKey =
		(own: string): CheckKey =>
		({ check = own }) => {
			if (check !== own) throw new Error(`The store has ${check}.`);
			return own;
		};

	it("servers that start at once have one identity, which stays", async (test) => {
		const here = await place(test);
		const identities = await Promise.all(
			[here.database, here.another(), here.another()].map(async (database) =>
				(await openMeta({ database, checkKey: checkKey("1") })).identity(),
			),
		);
		expect(new Set(identities).size).toBe(1);
		expect(identities[0]).toMatch(/^[0-9a-f]{32}$/);
		expect(await (await openMeta({ database: here.another(), checkKey: checkKey("1") })).identity()).toBe(
			identities[0],
		);
	});

	it("D22: a server with another secret is refused; of two at once the first has its way", async (test) => {
		const here = await place(test);
		const opened = await Promise.allSettled(
			[1, 2].map((byte) => openMeta({ database: here.another(), checkKey: checkKey(String(byte)) })),
		);
		expect(opened.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
		const refused = opened.find((each) => each.status === "rejected");
		expect(refused?.reason).toMatchObject({
			message: expect.stringMatching(/^The store has [12]\.$/),
		});
	});

	it("D40: ping › writes, leaves nothing, and rejects when nothing can be written", async (test) => {
		const here = await place(test);
		const { ping } = await openMeta({ database: here.database, checkKey: undefined });
		const facts = statement("SELECT (SELECT count(*) FROM meta), pg_current_wal_lsn() - '0/0'::pg_lsn");
		const [before] = (await here.database.read.run(facts)).rows;
		await Promise.all([ping(), ping()]);
		const [after] = (await here.database.read.run(facts)).rows;
		expect(after?.[0]).toBe(before?.[0]);
		expect(Number(after?.[1]) - Number(before?.[1])).toBeGreaterThan(2 * 16_384);
		await here.database.write(({ run }) =>
			run(
				statement(
					"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no " +
						"room' USING ERRCODE = '53100'; END $$",
				),
			),
		);
		await here.database.write(({ run }) =>
			run(statement("CREATE TRIGGER full_disk BEFORE INSERT ON meta EXECUTE FUNCTION refuse()")),
		);
		await expect(ping()).rejects.toMatchObject({ why: "full" });
	});
});
