/**
 * Servers that share a PostgreSQL: who counts as alive, who leads what, and what cheap looks show.
 * Times are `now`.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sessionRow } from "../../../../../test/store/sessions.ts";
import { siteOf, T0, TTL } from "../../../../../test/store/site.ts";
import { postgres } from "../../../../../test/support/postgres.ts";
import { systemClock } from "../../../system/clock.ts";
import type { ClusterStore } from "../../contract/cluster.ts";
import type { Signal, Store } from "../../contract/store.ts";
import { openPostgres } from "../open.ts";

const ALIVE = 7000;
let first: Store;
let second: Store;
let cluster: ClusterStore;
let servers = 0;

beforeAll(async () => {
	const { url } = await (await postgres()).createDatabase();
	first = await openPostgres({ url, clock: systemClock });
	second = await openPostgres({ url, clock: systemClock });
	cluster = first.cluster!;
});
afterAll(async () => {
	await first?.close();
	await second?.close();
});

/** A server of this test alone; names of leases begin with its own word. */
function server(q: { id?: string; run?: string; at?: ClusterStore } = {}) {
	const { id = `server-${(servers += 1)}`, run = "run-1", at = cluster } = q;
	return {
		id,
		beat: (now: number, given: Partial<Parameters<ClusterStore["beat"]>[0]> = {}) =>
			at.beat({
				server: id,
				run,
				url: `http://${id}`,
				startedAt: T0,
				first: false,
				bury: false,
				aliveMs: ALIVE,
				known: new Map(),
				now,
				...given,
			}),
		lead: (names: string[], atMost = names.length) => at.lead({ names, atMost, server: id, run }),
		yield: (names: string[]) => at.yield({ names, server: id }),
		leave: () => at.leave({ server: id, run }),
	};
}

/** Who leads the names, in their order. */
async function leaders(names: string[], now: number): Promise<(string | undefined)[]> {
	const seen = await server({ id: "watcher" }).beat(now);
	return names.map((name) => seen!.leases.find((lease) => lease.name === name)?.server);
}

describe("D24, D34: signs of life", () => {
	it("a server counts as alive for the time it said, and is known with its address", async () => {
		const one = server();
		const seen = await one.beat(T0, { first: true });
		expect(seen!.servers).toContainEqual(
			expect.objectContaining({
				id: one.id,
				url: `http://${one.id}`,
				startedAt: T0,
				aliveUntil: T0 + ALIVE,
			}),
		);
		const ids = async (now: number) => (await cluster.servers({ now })).map(({ id }) => id);
		expect(await ids(T0 + ALIVE - 1)).toContain(one.id);
		expect(await ids(T0 + ALIVE)).not.toContain(one.id);
	});

	it("a note is returned to those who do not know its number yet", async () => {
		const [one, two] = [server(), server()];
		await one.beat(T0, { first: true, note: '{"a":1}' });
		const of = async (known: ReadonlyMap<string, number>) =>
			(await two.beat(T0, { known }))!.servers.find(({ id }) => id === one.id)!;
		const seenState = await of(new Map());
		expect(seenState.note).toBe('{"a":1}');
		expect(await of(new Map([[one.id, seenState.noteNumber]]))).not.toHaveProperty("note");
		await one.beat(T0 + 1);
		expect(await of(new Map([[one.id, seenState.noteNumber]]))).not.toHaveProperty("note");
		await one.beat(T0 + 2, { note: '{"a":2}' });
		expect(await of(new Map([[one.id, seenState.noteNumber]]))).toMatchObject({ note: '{"a":2}' });
	});

	it("a number never comes back with another note, not even after the server was removed", async () => {
		const [one, two] = [server(), server()];
		const at = T0 + 50_000;
		await one.beat(at, { first: true, note: "1" });
		const before = (await two.beat(at))!.servers.find(({ id }) => id === one.id)!;
		await two.beat(at + ALIVE, { bury: true });
		await one.beat(at + ALIVE, { note: "2" });
		const after = (await two.beat(at + ALIVE, {
			known: new Map([[one.id, before.noteNumber]]),
		}))!.servers.find(({ id }) => id === one.id)!;
		expect(after.note).toBe("2");
	});

	it("of two starts under one id the later one counts, with all that the earlier one led", async () => {
		const [one, again] = [server({ id: "twice", run: "early" }), server({ id: "twice", run: "late" })];
		await one.beat(T0, { first: true });
		await one.lead(["twice-1"]);
		expect((await again.beat(T0 + 1, { first: true }))!.leases).toContainEqual({
			name: "twice-1",
			server: "twice",
		});
		expect(await one.beat(T0 + 2)).toBeUndefined();
		expect(await one.lead(["twice-2"])).toEqual([]);
		await one.leave();
		expect(await again.beat(T0 + 3)).toBeDefined();
	});
});

describe("D28, D34: leases", () => {
	it("one leads; others get what is free, the first names first, and no more than they ask for", async () => {
		const [one, two] = [server(), server()];
		await one.beat(T0, { first: true });
		await two.beat(T0, { first: true });
		expect(await one.lead(["a1", "a2", "a3"], 2)).toEqual(["a1", "a2"]);
		expect(await two.lead(["a1", "a2", "a3"])).toEqual(["a3"]);
		expect(await leaders(["a1", "a2", "a3"], T0)).toEqual([one.id, one.id, two.id]);
	});

	it("two that ask at once never both lead", async () => {
		const pair = [server(), server({ at: second.cluster! })];
		for (const each of pair) await each.beat(T0, { first: true });
		const names = Array.from({ length: 200 }, (_, n) => `b${n}`);
		const [one, two] = await Promise.all(pair.map((each, n) => each.lead(n === 0 ? names : names.toReversed())));
		expect([...one!, ...two!].toSorted()).toEqual(names.toSorted());
	});

	it("what a dead server led is free once it is removed; one that gives a sign of life again has lost it", async () => {
		const [one, two] = [server(), server()];
		const at = T0 + 100_000;
		await one.beat(at, { first: true });
		await one.lead(["c1"]);
		await two.beat(at + ALIVE - 1, { first: true, bury: true });
		expect(await two.lead(["c1"])).toEqual([]);
		await two.beat(at + ALIVE, { bury: true });
		expect(await two.lead(["c1"])).toEqual(["c1"]);
		expect((await one.beat(at + ALIVE))!.leases).toContainEqual({ name: "c1", server: two.id });
	});

	it("a late sign of life keeps all, as long as no server removed the server", async () => {
		const [one, two] = [server(), server()];
		const at = T0 + 200_000;
		await one.beat(at, { first: true });
		await one.lead(["d1"]);
		await two.beat(at + 2 * ALIVE, { first: true });
		expect((await one.beat(at + 2 * ALIVE))!.leases).toContainEqual({ name: "d1", server: one.id });
		await two.beat(at + 2 * ALIVE, { bury: true });
		expect(await leaders(["d1"], at + 2 * ALIVE)).toEqual([one.id]);
	});

	it("a server that leaves or yields is reported, and frees its leases at once; it yields only its own", async () => {
		const [one, two] = [server(), server({ at: second.cluster! })];
		await one.beat(T0, { first: true });
		await two.beat(T0, { first: true });
		await one.lead(["e1", "e2"]);
		const seenState: Signal[] = [];
		let heard = Promise.withResolvers<void>();
		const end = second.onSignal((signal) => {
			if (signal.kind !== "servers") return;
			seenState.push(signal);
			heard.resolve();
		});
		await two.yield(["e1"]);
		expect(await two.lead(["e1"])).toEqual([]);
		await one.yield(["e1"]);
		await heard.promise;
		expect(await two.lead(["e1", "e2"])).toEqual(["e1"]);
		heard = Promise.withResolvers();
		await one.leave();
		await heard.promise;
		expect(await two.lead(["e2"])).toEqual(["e2"]);
		end();
	});
});

it("a signal says whether another server did it", async () => {
	const site = siteOf(first);
	const heard: [string, boolean | undefined][] = [];
	const seenState = Promise.withResolvers<void>();
	const ends = [
		["own", first],
		["other", second],
	] as const;
	const stops = ends.map(([name, store]) =>
		store.onSignal((signal, elsewhere) => {
			if (signal.kind !== "settled" || signal.endpoint !== site.endpoint) return;
			heard.push([name, elsewhere]);
			if (heard.length === 2) seenState.resolve();
		}),
	);
	const { id } = await site.add();
	await site.move(id, "cancel", { now: T0 + TTL });
	await seenState.promise;
	expect(heard).toEqual([
		["own", false],
		["other", true],
	]);
	for (const stop of stops) stop();
});

describe("looks", () => {
	it("over: jobs that have ended or are no more, and no others", async () => {
		const site = siteOf(first);
		const running = await site.running();
		const waiting = await site.add();
		const ended = await site.add();
		await site.move(ended.id, "cancel");
		const { endpoint } = site;
		const ids = [running.id, waiting.id, ended.id, "unknown"];
		const over = await cluster.over({ jobs: ids.map((id) => ({ endpoint, id })) });
		expect(over.map(({ id }) => id).toSorted()).toEqual([ended.id, "unknown"].toSorted());
		expect(await cluster.over({ jobs: [] })).toEqual([]);
	});

	it("running: the running jobs of the endpoint with their workers", async () => {
		const site = siteOf(first);
		const job = await site.running({ worker: "w1" });
		await site.add();
		expect(await cluster.running({ endpoint: site.endpoint })).toEqual([
			{ endpoint: site.endpoint, id: job.id, worker: "w1", attempt: 1, startedAt: T0 },
		]);
		await site.report(job.id);
		expect(await cluster.running({ endpoint: site.endpoint })).toEqual([]);
	});

	it("versions: another word after each change, the same without one", async () => {
		const { versions } = cluster;
		let last = await versions();
		expect(await versions()).toEqual(last);
		const differs = async (what: keyof typeof last, change: () => Promise<unknown>): Promise<void> => {
			await change();
			const now = await versions();
			expect(now[what]).not.toBe(last[what]);
			last = now;
		};
		await differs("endpoints", () => first.endpoints.put({ id: "v", settings: "{}", now: T0 }));
		const before = { settings: "{}" };
		await differs("endpoints", () => first.endpoints.put({ id: "v", before, settings: '{"name":"V"}', now: T0 }));
		await differs("endpoints", () => first.endpoints.pause({ id: "v", paused: true }));
		await differs("endpoints", () => first.endpoints.remove({ id: "v" }));
		await differs("endpoints", () => first.endpoints.forget({ id: "v", now: T0 }));
		await differs("access", () =>
			first.keys.insert({
				row: { id: "k", hash: "h", name: "n", scopes: ["read"], createdAt: T0 },
				ifNone: false,
			}),
		);
		await first.keys.used({ id: "k", now: T0 + 9 });
		expect(await versions()).toEqual(last);
		await differs("access", () => first.keys.rotate({ id: "k", hash: "h2" }));
		await differs("access", () => first.keys.remove({ id: "k", now: T0 }));
		const session = { row: sessionRow(1), atMost: 9, usedSince: T0, now: T0 };
		await differs("access", () => first.sessions.insert(session));
		await first.sessions.used({ id: session.row.id, now: T0 + 9, address: "" });
		expect(await versions()).toEqual(last);
		await differs("access", () => first.sessions.remove(session.row));
		await differs("access", () => first.tokens.put({ hash: "t", endpoint: "v", worker: "w", createdAt: T0 }));
		await differs("access", () => first.tokens.remove({ worker: "w" }));
	});

	it("clock: the database's time of day, which here is this machine's, and the last time seen", async () => {
		const { wall, seen } = await cluster.clock();
		expect(Math.abs(wall - Date.now())).toBeLessThan(1000);
		expect(seen).toBeUndefined();
		const last = { at: T0, wall: T0 + 1, server: "s-1" };
		await first.time.seen(last);
		expect((await cluster.clock()).seen).toEqual(last);
	});

	it("a worker's row says which server launched it", async () => {
		const row = { id: "w-1", endpoint: "e", launcher: "process", server: "s-1", createdAt: T0 };
		await first.workers.put(row);
		expect(await first.workers.list()).toContainEqual(expect.objectContaining(row));
		await first.workers.remove({ id: row.id });
	});
});
