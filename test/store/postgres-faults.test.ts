/**
 * The way to PostgreSQL is slow, silent, cut or closed: callers learn it within 2 s, all recovers
 * automatically, and no caller gets a guess.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { SESSION_LOCKS } from "../../src/kernel/store/postgres/connection/session-liveness.ts";
import { type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import { lateness } from "../support/lateness.ts";
import { postgres } from "../support/postgres.ts";
import { tcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { everyCall, operationsOf } from "./every-call.ts";
import { siteOf, T0 } from "./site.ts";
import { TOLD_MS, place, opened, timed, untilAnswered, printTime } from "./postgres-proxied.ts";

describe("the database is unavailable", () => {
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
		"%s: every operation is refused within 2 s, at once as soon as that is known, and works again",
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
				const late = lateness();
				const ends = await Promise.all(
					Object.entries(calls).map(async ([name, call]) => ({ name, ...(await timed(call)) })),
				);
				const { total } = late();
				for (const { name, fault, ms } of ends) {
					expect(fault, `${name} ${known}`).toBeInstanceOf(StoreUnavailable);
					expect(fault, name).toMatchObject({ why: "unreachable" });
					expect(ms, `${name} ${known}`).toBeLessThan(bound + total);
				}
				printTime(`${what}, ${known}: refused after at most`, Math.max(...ends.map(({ ms }) => ms)));
			}
			await proxy.pass();
			const back = await Promise.all(Object.values(calls).map(untilAnswered));
			printTime(`${what}: all answered again after`, Math.max(...back));
		},
	);

	it("those that ask one after the other while nothing is known yet all learn it in time", async () => {
		const { proxy, store } = await place();
		const site = siteOf(store);
		proxy.silent();
		const asked: Promise<{ ms: number }>[] = [];
		const late = lateness();
		for (let n = 0; n < 40; n += 1) {
			asked.push(
				timed(() => site.insert()),
				timed(() => store.ping()),
			);
			await systemClock.sleep(50);
		}
		const slowest = Math.max(...(await Promise.all(asked)).map(({ ms }) => ms));
		printTime("asked all the time while it fell silent: refused after at most", slowest);
		expect(slowest).toBeLessThan(TOLD_MS + late().total);
	});

	it("close ends within some seconds and leaves no connection", async () => {
		const { proxy, store } = await place();
		const site = siteOf(store);
		await site.add();
		proxy.silent();
		const asked = timed(() => site.insert());
		const { ms } = await timed(() => store.close());
		printTime("close of a store whose database is silent", ms);
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
		expect(JSON.stringify(fault) + String((fault as Error).stack)).not.toMatch(/postgres:\/\/|[0-9a-f]{24}/);
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
				"limits.put",
				"ping",
			].map(async (name) => ({ name, ...(await timed(calls[name]!)) })),
		);
		expect(ends.filter(({ fault }) => fault !== undefined)).toEqual([]);
		printTime("slowest operation at 300 ms each way", Math.max(...ends.map(({ ms }) => ms)));
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
			if (!/^(cluster|limits)\./.test(name)) expect({ name, fault }).toEqual({ name, fault: undefined });
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
		const reserve = (at: Store, reader: string) => at.chunks.reserve({ endpoint, id, reader, maxBytes: 1000, now: T0 });
		for (let cuts = 0; cuts < 5; cuts += 1) {
			await admin.query(
				"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND " +
					`classid = ${SESSION_LOCKS} AND database = (SELECT oid FROM pg_database WHERE datname ` +
					"= current_database())",
			);
			expect(await reserve(store, "a")).toMatchObject({ chunks: ['{"output":1}'] });
			await systemClock.sleep(Math.random() * 60);
			expect(await reserve(other, "b"), `after cut ${cuts}`).toMatchObject({ busy: true });
			await store.chunks.deliver({ endpoint, id, reader: "a", delivered: false });
		}
	});

	it("under load, with many cuts: what was acknowledged is there once, each job ends once, none hangs", async () => {
		const { proxy, store, admin } = await place();
		const site = siteOf(store);
		const acknowledged = new Set<string>();
		const reported = new Set<string>();
		let over = false;
		const cutting = (async () => {
			for (let n = 0; n < 40; n += 1) {
				// On a slow machine too some work is done between two cuts.
				const before = acknowledged.size;
				await until("a job is acknowledged", () => acknowledged.size > before);
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
		await Promise.all([cutting, ...Array.from({ length: 8 }, submit), ...["w1", "w2", "w3"].map(work)]);
		const { rows } = await admin.query<{ state: string; count: string }>(
			"SELECT state, count(*) FROM jobs GROUP BY state",
		);
		expect([...acknowledged].filter((id) => !reported.has(id))).toEqual([]);
		expect(rows.filter(({ state }) => state === "IN_PROGRESS")).toEqual([]);
		expect(Number(rows.find(({ state }) => state === "COMPLETED")?.count)).toBe(reported.size);
		expect((await site.counts()).inQueue).toBe(Number(rows.find(({ state }) => state === "IN_QUEUE")?.count ?? 0));
		console.log(`40 cuts: ${acknowledged.size} submitted, ${reported.size} done`);
	});
});
