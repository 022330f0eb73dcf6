/**
 * The way to PostgreSQL is slow, silent, cut or closed: callers learn it within 2 s, all recovers
 * by itself, and nobody is told a guess.
 */
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { SESSION_LOCKS } from "../../src/store/postgres/chunks.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { StoreUnavailable } from "../../src/store/contract/store.ts";
import type { Signal, Store } from "../../src/store/contract/store.ts";
import { postgres } from "../support/postgres.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { everyCall, operationsOf } from "./every-call.ts";
import { siteOf, T0, LEASE } from "./site.ts";

const sealKey = Buffer.alloc(32, 1);

/** The longest time until a caller is told, ms. */
const TOLD_MS = 2000;

interface Place {
	proxy: TcpProxy;
	/** By way of the proxy. */
	store: Store;
	/** Another server's, straight at the database. */
	other: Store;
	admin: Client;
}

/** A database with a proxy before it; all ends with the test. */
async function place(): Promise<Place> {
	const server = await postgres();
	const { url, name } = await server.createDatabase();
	const proxy = await tcpProxy(Number(new URL(url).port));
	onTestFinished(() => proxy.close());
	const [store, other] = [await opened(proxy.through(url)), await opened(url)];
	const admin = new Client(server.adminUrl(name));
	await admin.connect();
	onTestFinished(() => admin.end());
	return { proxy, store, other, admin };
}

async function opened(url: string): Promise<Store> {
	const store = await openPostgres({ url, clock: systemClock, sealKey });
	onTestFinished(() => store.close());
	return store;
}

/** How a call ended, and after how long, ms. */
async function timed(call: () => Promise<unknown>): Promise<{ fault: unknown; ms: number }> {
	const began = performance.now();
	const fault: unknown = await call().then(
		() => undefined,
		(error: unknown) => error,
	);
	return { fault, ms: performance.now() - began };
}

/** Asks until it is answered; how long that took, ms. */
async function untilAnswered(call: () => Promise<unknown>): Promise<number> {
	const began = performance.now();
	while ((await timed(call)).fault !== undefined) await systemClock.sleep(20);
	return performance.now() - began;
}

const tell = (what: string, ms: number): void => console.log(`${what}: ${Math.round(ms)} ms`);

describe("the database is away", () => {
	it.each<[string, (proxy: TcpProxy) => void]>([
		["silent: half-open connections", (proxy) => proxy.silent()],
		[
			"refusing: it was ended",
			(proxy) => {
				proxy.refuse();
				proxy.cut();
			},
		],
	])(
		"%s: every operation is refused within 2 s, at once as soon as that is known, and works again by itself",
		async (what, fail) => {
			const { proxy, store } = await place();
			const calls = everyCall(store);
			expect(Object.keys(calls).toSorted()).toEqual(operationsOf(store).toSorted());
			for (const [name, call] of Object.entries(calls))
				expect({ name, ...(await timed(call)) }).toMatchObject({ name, fault: undefined });
			fail(proxy);
			for (const [known, bound] of [
				["at first", TOLD_MS],
				["known", 500],
			] as const) {
				const ends = await Promise.all(
					Object.entries(calls).map(async ([name, call]) => ({ name, ...(await timed(call)) })),
				);
				for (const { name, fault, ms } of ends) {
					expect(fault, `${name} ${known}`).toBeInstanceOf(StoreUnavailable);
					expect(fault, name).toMatchObject({ why: "unreachable" });
					expect(ms, `${name} ${known}`).toBeLessThan(bound);
				}
				tell(`${what}, ${known}: refused after at most`, Math.max(...ends.map(({ ms }) => ms)));
			}
			await proxy.pass();
			const back = await Promise.all(Object.values(calls).map(untilAnswered));
			tell(`${what}: all answered again after`, Math.max(...back));
		},
	);

	it("those that ask one after the other while nothing is known yet all learn it in time", async () => {
		const { proxy, store } = await place();
		const site = siteOf(store);
		proxy.silent();
		const asked: Promise<{ ms: number }>[] = [];
		for (let n = 0; n < 40; n += 1) {
			asked.push(
				timed(() => site.insert()),
				timed(() => store.ping()),
			);
			await systemClock.sleep(50);
		}
		const slowest = Math.max(...(await Promise.all(asked)).map(({ ms }) => ms));
		tell("asked all the time while it fell silent: refused after at most", slowest);
		expect(slowest).toBeLessThan(TOLD_MS);
	});

	it("close ends within some seconds and leaves no connection", async () => {
		const { proxy, store } = await place();
		const site = siteOf(store);
		await site.add();
		proxy.silent();
		const asked = timed(() => site.insert());
		const { ms } = await timed(() => store.close());
		tell("close of a store whose database is silent", ms);
		expect((await asked).fault).toBeInstanceOf(StoreUnavailable);
		expect(ms).toBeLessThan(5000);
		await proxy.pass();
		while (proxy.open > 0) await systemClock.sleep(10);
	});

	it("no secret is in a fault", async () => {
		const { proxy, store } = await place();
		proxy.refuse();
		proxy.cut();
		const { fault } = await timed(() => store.ping());
		expect(String((fault as Error).message)).toContain("cannot be reached");
		expect(JSON.stringify(fault) + String((fault as Error).stack)).not.toMatch(
			/postgres:\/\/|[0-9a-f]{24}/,
		);
	});
});

describe("the way is slow", () => {
	it("300 ms each way: the store opens, and everything works", { timeout: 60_000 }, async () => {
		const server = await postgres();
		const { url } = await server.createDatabase();
		const proxy = await tcpProxy(Number(new URL(url).port));
		onTestFinished(() => proxy.close());
		await opened(url);
		proxy.slow({ toServerMs: 300, toClientMs: 300 });
		const store = await opened(proxy.through(url));
		const calls = everyCall(store);
		const ends = await Promise.all(
			[
				"jobs.insert",
				"jobs.claim",
				"jobs.list",
				"jobs.settle",
				"workers.ping",
				"cluster.beat",
				"cluster.clock",
				"limits.take",
				"ping",
			].map(async (name) => ({ name, ...(await timed(calls[name]!)) })),
		);
		expect(ends.filter(({ fault }) => fault !== undefined)).toEqual([]);
		tell("slowest operation at 300 ms each way", Math.max(...ends.map(({ ms }) => ms)));
		const site = siteOf(store);
		const { id } = await site.running();
		await site.report(id, { output: "1" });
		expect(await site.state(id)).toBe("COMPLETED");
	});
});

describe("a connection is cut", () => {
	it("each operation is done again on a new one: callers notice nothing", async () => {
		const { proxy, store } = await place();
		for (const [name, call] of Object.entries(everyCall(store))) {
			proxy.cut();
			const { fault } = await timed(call);
			// Signs of life and counts have loops of their own, which ask again.
			if (!/^(cluster|limits)\./.test(name))
				expect({ name, fault }).toEqual({ name, fault: undefined });
		}
	});

	it("D7: what is reserved right afterwards is its reader's, at any server", async () => {
		const { store, other, admin } = await place();
		const site = siteOf(store);
		const { id } = await site.running();
		const { endpoint } = site;
		await store.chunks.append({
			endpoint,
			id,
			worker: "w1",
			chunks: ['{"output":1}'],
			unlessLast: false,
			now: T0,
		});
		const reserve = (at: Store, reader: string) =>
			at.chunks.reserve({ endpoint, id, reader, maxBytes: 1000, now: T0 });
		for (let cuts = 0; cuts < 5; cuts += 1) {
			await admin.query(
				`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = ${SESSION_LOCKS} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
			);
			expect(await reserve(store, "a")).toMatchObject({ chunks: ['{"output":1}'] });
			await systemClock.sleep(Math.random() * 60);
			expect(await reserve(other, "b"), `after cut ${cuts}`).toMatchObject({ busy: true });
			await store.chunks.deliver({ endpoint, id, reader: "a", delivered: false });
		}
	});

	it("under load, again and again: what was acknowledged is there once, each job ends once, and none hangs", async () => {
		const { proxy, store, admin } = await place();
		const site = siteOf(store);
		const acknowledged = new Set<string>();
		const reported = new Set<string>();
		let over = false;
		const cutting = (async () => {
			for (let n = 0; n < 40; n += 1) {
				await systemClock.sleep(Math.random() * 80);
				proxy.cut();
			}
			over = true;
		})();
		const submit = async (): Promise<void> => {
			while (!over)
				await site.add().then(
					({ id }) => acknowledged.add(id),
					() => systemClock.sleep(10),
				);
		};
		const work = async (worker: string): Promise<void> => {
			while (!over || acknowledged.size > reported.size) {
				const claimed = await site.take({ worker, limit: 5 }).catch(() => systemClock.sleep(10));
				for (const { job } of claimed?.jobs ?? []) {
					// A report whose outcome is unknown is sent again, as a worker does.
					await untilAnswered(() => site.report(job.id, { worker, output: "1" }));
					if (reported.has(job.id)) throw new Error(`${job.id} was handed out after its report.`);
					reported.add(job.id);
				}
				if (claimed?.jobs.length === 0) await systemClock.sleep(5);
			}
		};
		await Promise.all([
			cutting,
			...Array.from({ length: 8 }, submit),
			...["w1", "w2", "w3"].map(work),
		]);
		const { rows } = await admin.query<{ state: string; count: string }>(
			"SELECT state, count(*) FROM jobs GROUP BY state",
		);
		expect([...acknowledged].filter((id) => !reported.has(id))).toEqual([]);
		expect(rows.filter(({ state }) => state === "IN_PROGRESS")).toEqual([]);
		expect(Number(rows.find(({ state }) => state === "COMPLETED")?.count)).toBe(reported.size);
		expect((await site.counts()).inQueue).toBe(
			Number(rows.find(({ state }) => state === "IN_QUEUE")?.count ?? 0),
		);
		console.log(`40 cuts: ${acknowledged.size} submitted, ${reported.size} done`);
	});
});

/**
 * Commits of changed jobs wait for a lock that the test holds, so that their connection can be cut
 * right then.
 */
async function gate({
	admin,
}: Place): Promise<{ waited: () => Promise<number>; open: () => Promise<void> }> {
	await admin.query(`
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER gate AFTER INSERT OR UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
    SELECT pg_advisory_lock(4711)`);
	return {
		/** The backend whose COMMIT waits. */
		async waited() {
			for (;;) {
				const { rows } = await admin.query<{ pid: number }>(
					"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
				);
				if (rows[0]) return rows[0].pid;
			}
		},
		open: async () => void (await admin.query("SELECT pg_advisory_unlock(4711)")),
	};
}

describe("a connection is cut while its COMMIT is under way", () => {
	it("committed: the caller gets the answer, and it was done once", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const { waited, open } = await gate(all);
		const inserted = site.insert();
		await waited();
		all.proxy.cut();
		await open();
		const answer = await inserted;
		expect(answer).toMatchObject({ ok: true });
		expect(answer).not.toHaveProperty("repeated");
		expect(
			await siteOf(all.other).store.jobs.counts({ endpoint: site.endpoint, now: T0 }),
		).toMatchObject({ inQueue: 1 });
	});

	it("not committed: it is done again, once", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const { waited, open } = await gate(all);
		const inserted = site.insert();
		await all.admin.query("SELECT pg_terminate_backend($1)", [await waited()]);
		await waited();
		await open();
		expect(await inserted).toMatchObject({ ok: true });
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
	});

	/**
	 * Lets a call's connection be cut in its COMMIT, and nothing through until it has been refused.
	 * `end`: what becomes of the commit then.
	 */
	async function unheard(
		all: Place,
		call: () => Promise<unknown>,
		end: "committed" | "undone",
	): Promise<void> {
		const { waited, open } = await gate(all);
		const asked = timed(call);
		const pid = await waited();
		all.proxy.refuse();
		all.proxy.cut();
		if (end === "undone") await all.admin.query("SELECT pg_terminate_backend($1)", [pid]);
		await open();
		const { fault, ms } = await asked;
		expect(fault).toMatchObject({ why: "unreachable", unsure: true });
		expect(ms).toBeLessThan(TOLD_MS + 200);
	}

	it("and is away for longer: the caller is told that nobody knows; the truth is in the database", async () => {
		const all = await place();
		const site = siteOf(all.store);
		await unheard(all, () => site.insert(), "committed");
		await all.proxy.pass();
		await untilAnswered(() => site.counts());
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
		const [[first], second] = [await site.takeIds(), await site.takeIds({ worker: "w2" })];
		expect([typeof first, second]).toEqual(["string", []]);
	});

	it("D16: jobs that were handed out by it go back by themselves, in order, without a loss, whatever time has passed", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const ids = [(await site.add()).id, (await site.add()).id, (await site.add()).id];
		await unheard(all, () => site.take({ limit: 2 }), "committed");
		expect(await all.other.jobs.counts({ endpoint: site.endpoint, now: T0 })).toMatchObject({
			inQueue: 1,
			inProgress: 2,
		});
		const back: Signal[] = [];
		const told = new Promise<void>((resolve) =>
			all.store.onSignal(
				(signal) => signal.kind === "queued" && back.push(signal) === 2 && resolve(),
			),
		);
		const began = performance.now();
		await all.proxy.pass();
		await told;
		tell("jobs of a lost hand-out are back after", performance.now() - began);
		const later = T0 + LEASE + 1;
		expect(await site.counts(later)).toMatchObject({ inQueue: 3, inProgress: 0, retried: 0 });
		expect(await site.attempts(ids[0]!)).toMatchObject([
			{ attempt: 1, end: "released", open: false },
		]);
		expect(await site.takeIds({ limit: 3, now: later })).toEqual(ids);
		expect(await site.get(ids[0]!, later)).toMatchObject({
			job: { attempt: 2, losses: 0, worker: "w1" },
		});
	});

	it("D16: a hand-out that was undone takes nothing away from who got the jobs meanwhile", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const { id } = await site.add();
		await unheard(all, () => site.take(), "undone");
		const { jobs } = await all.other.jobs.claim({
			endpoint: site.endpoint,
			worker: "w1",
			limit: 1,
			maxBytes: 1000,
			now: T0,
		});
		expect(jobs).toMatchObject([{ job: { id, attempt: 1 } }]);
		await all.proxy.pass();
		await untilAnswered(() => site.counts());
		// Its own connection asks in this pause what became of it.
		await systemClock.sleep(1000);
		expect(await site.get(id)).toMatchObject({
			job: { state: "IN_PROGRESS", worker: "w1", attempt: 1 },
		});
	});
});
