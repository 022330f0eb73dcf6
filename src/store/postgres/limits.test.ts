/**
 * Counting for all servers, against a real PostgreSQL: exact in any order and at any time, together
 * at once, and nothing kept without end.
 */
import fc from "fast-check";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgres } from "../../../test/support/postgres.ts";
import { systemClock } from "../../clock.ts";
import { rateWindow, type RateWindow, WINDOW_MS } from "../../core/rate-window.ts";
import type { LimitAnswer, LimitAsk, LimitStore } from "../contract/limits.ts";
import { type Connection, openConnection } from "./connection/connection.ts";
import { addressOf } from "./connection/database.ts";
import { openLimits } from "./limits.ts";
import { timeoutRunner } from "./connection/timeouts.ts";
import { prepareSchema } from "./schema.ts";

const T0 = 1_800_000_000_000;
const ALIVE_MS = 9000;
const SERVERS = ["a", "b", "c"];

let url: string;
let admin: Client;
let drop: () => Promise<void>;
const connections: Connection[] = [];
/** One for each of the servers. */
let stores: LimitStore[];

beforeAll(async () => {
	({ url, drop } = await (await postgres()).createDatabase());
	await prepareSchema({ url });
	admin = new Client({ connectionString: url });
	await admin.connect();
	stores = SERVERS.map(() => {
		const connection = openConnection({ ...addressOf(url), clock: systemClock });
		connections.push(connection);
		return openLimits({
			run: timeoutRunner({ connection, name: "test", clock: systemClock, silentMs: 2000 }),
		});
	});
});

afterAll(async () => {
	for (const connection of connections) await connection.close();
	await admin.end();
	await drop();
});

let endpoints = 0;

/** An endpoint that is unknown so far. */
function fresh(): string {
	endpoints += 1;
	return `endpoint-${endpoints}`;
}

type Taken = Partial<LimitAsk> & { endpoint: string; server?: number; now?: number };

async function take({ server = 0, now = T0, ...ask }: Taken): Promise<LimitAnswer> {
	const [answer] = await stores[server]!.take({
		server: SERVERS[server]!,
		asks: [{ operation: "run", held: 0, count: 1, ...ask }],
		windowMs: WINDOW_MS,
		aliveMs: ALIVE_MS,
		now,
	});
	return answer!;
}

async function rowsOf(table: string, endpoint: string): Promise<number> {
	return Number(
		(await admin.query(`SELECT count(*) AS rows FROM ${table} WHERE endpoint = $1`, [endpoint])).rows[0].rows,
	);
}

/** What is right, as plainly as it can be said. */
function model() {
	let times: number[] = [];
	const places = new Map<number, { held: number; until: number }>();
	return ({
		server = 0,
		now = T0,
		per10s = Infinity,
		concurrent = Infinity,
		held = 0,
		count = 1,
	}: Omit<Taken, "endpoint">): LimitAnswer => {
		let granted = 0;
		times = times.filter((at) => at > now - WINDOW_MS);
		const elsewhere = [...places].reduce(
			(sum, [id, place]) => sum + (id !== server && place.until > now ? place.held : 0),
			0,
		);
		while (granted < count && times.length < per10s && held + granted + elsewhere < concurrent) {
			granted += 1;
			if (per10s < Infinity) times.push(now);
		}
		if (concurrent < Infinity) places.set(server, { held: held + granted, until: now + ALIVE_MS });
		if (count === 0) return { granted, used: 0, oldest: undefined, freeAt: undefined };
		return {
			granted,
			used: times.length,
			oldest: times[0],
			freeAt:
				times.length < per10s ? undefined : per10s === 0 ? now + WINDOW_MS : times[times.length - per10s]! + WINDOW_MS,
		};
	};
}

const limit = (max: number): fc.Arbitrary<number | undefined> => fc.option(fc.nat(max), { nil: undefined, freq: 4 });
const step = fc.record({
	server: fc.nat(2),
	wait: fc.oneof(fc.nat(3), fc.nat(4000)),
	held: fc.nat(4),
	count: fc.nat(5),
	change: fc.option(fc.record({ per10s: limit(12), concurrent: limit(6) }), {
		freq: 5,
		nil: undefined,
	}),
	forget: fc.integer({ min: 0, max: 9 }),
});

describe("take", () => {
	it("D24: grants exactly what is left, for any server, time and number, and when a place is free", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
				const endpoint = fresh();
				const right = model();
				let now = T0;
				let limits: { per10s?: number | undefined; concurrent?: number | undefined } = {
					per10s: 7,
					concurrent: 4,
				};
				for (const { server, wait, held, count, change, forget } of steps) {
					now += wait;
					limits = change ?? limits;
					if (forget === 0) await stores[server]!.forget({ windowMs: WINDOW_MS, now });
					expect(await take({ endpoint, server, now, held, count, ...limits })).toEqual(
						right({ server, now, held, count, ...limits }),
					);
				}
			}),
			{ numRuns: 60 },
		);
	});

	/** What one server without PostgreSQL does (`engine/limits/admission.ts`), request by request. */
	function byCore(window: RateWindow, q: { now: number; per10s: number; count: number }): LimitAnswer {
		const { now, per10s, count } = q;
		let granted = 0;
		for (; granted < count && window.used(now) < per10s; granted += 1) window.add(now);
		const used = window.used(now);
		const wait = window.wait(per10s, now);
		return {
			granted,
			used,
			oldest: used > 0 ? now + window.wait(used, now) - WINDOW_MS : undefined,
			freeAt: wait > 0 ? now + wait : undefined,
		};
	}

	it("D24: the function in PostgreSQL and core/rate-window.ts are the same rule", async () => {
		const request = fc.record({
			server: fc.nat(2),
			// Often exactly at the end of a window, or within one millisecond.
			wait: fc.oneof(fc.nat(2), fc.nat(4000), fc.constantFrom(WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1)),
			count: fc.integer({ min: 1, max: 6 }),
			per10s: fc.option(fc.nat(12), { freq: 3, nil: undefined }),
		});
		await fc.assert(
			fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 40 }), async (requests) => {
				const endpoint = fresh();
				const window = rateWindow();
				let now = T0;
				let per10s = 5;
				for (const { server, wait, count, ...change } of requests) {
					now += wait;
					per10s = change.per10s ?? per10s;
					expect(await take({ endpoint, server, now, count, per10s })).toEqual(byCore(window, { now, per10s, count }));
				}
			}),
			{ numRuns: 100 },
		);
	});

	it("D24: asked by all servers at once, exactly as many pass as the limit has", async () => {
		for (const [per10s, concurrent] of [
			[100, undefined],
			[undefined, 100],
			[1000, 100],
		]) {
			const [endpoint, other] = [fresh(), fresh()];
			const held = [0, 0, 0];
			const granted = await Promise.all(
				SERVERS.map(async (server, index) => {
					let sum = 0;
					for (let turn = 0; turn < 60; turn += 1) {
						// In no particular order: the store has one.
						const asks = [endpoint, other].map((each) => ({
							endpoint: each,
							operation: "run",
							per10s,
							concurrent,
							held: held[index]!,
							count: 1,
						}));
						const answers = await stores[index]!.take({
							server,
							asks: turn % 2 === 0 ? asks : asks.toReversed(),
							windowMs: WINDOW_MS,
							aliveMs: ALIVE_MS,
							now: T0 + turn,
						});
						expect(answers).toHaveLength(2);
						const mine = answers[turn % 2]!.granted;
						held[index]! += mine;
						sum += mine;
					}
					return sum;
				}),
			);
			expect(granted.reduce((sum, each) => sum + each, 0)).toBe(100);
		}
	});

	it("D24: each operation of each endpoint counts alone, in the order of the asks", async () => {
		const endpoint = fresh();
		const asks = ["run", "cancel", "openai", "requests"].map((operation, index) => ({
			endpoint: `${endpoint}${index % 2}`,
			operation,
			per10s: index,
			held: 0,
			count: 9,
		}));
		const answers = await stores[0]!.take({
			server: "a",
			asks,
			windowMs: WINDOW_MS,
			aliveMs: ALIVE_MS,
			now: T0,
		});
		expect(answers.map(({ granted }) => granted)).toEqual([0, 1, 2, 3]);
		expect(
			await stores[0]!.take({
				server: "a",
				asks: [],
				windowMs: WINDOW_MS,
				aliveMs: ALIVE_MS,
				now: T0,
			}),
		).toEqual([]);
	});

	it("D24: places of a server without a word are free again within 10 s, and taken again when it is back", async () => {
		const endpoint = fresh();
		const limits = { endpoint, concurrent: 3 };
		expect(await take({ ...limits, server: 0, count: 3 })).toMatchObject({ granted: 3 });
		expect(await take({ ...limits, server: 1, now: T0 + ALIVE_MS - 1 })).toMatchObject({
			granted: 0,
		});
		expect(await take({ ...limits, server: 1, now: T0 + ALIVE_MS })).toMatchObject({ granted: 1 });
		expect(ALIVE_MS).toBeLessThan(10_000);
		await take({ ...limits, server: 0, held: 2, count: 0, now: T0 + ALIVE_MS });
		expect(await take({ ...limits, server: 1, held: 1, now: T0 + ALIVE_MS })).toMatchObject({
			granted: 0,
		});
	});

	it("D24: what a clock counted that was far ahead is not believed", async () => {
		const endpoint = fresh();
		await take({ endpoint, per10s: 2, count: 1, now: T0 });
		await take({ endpoint, per10s: 2, count: 1, now: T0 + 3_600_000, server: 1 });
		expect(await take({ endpoint, per10s: 2, count: 3, now: T0 + 5 })).toMatchObject({
			granted: 2,
			oldest: T0 + 5,
			used: 2,
		});
		expect(await take({ endpoint, per10s: 2, now: T0 + 5 + WINDOW_MS })).toMatchObject({
			granted: 1,
			used: 1,
		});
	});
});

describe("what is kept", () => {
	it("D24: nothing of a window that is over, and nothing of a server that was removed", async () => {
		const endpoint = fresh();
		for (let index = 0; index < 3; index += 1)
			await take({ endpoint, per10s: 9, concurrent: 9, server: index, now: T0 + index });
		const later = T0 + 60_000;
		await take({ endpoint, per10s: 9, concurrent: 9, now: later });
		expect(await rowsOf("limit_times", endpoint)).toBe(1);
		await stores[1]!.forget({ windowMs: WINDOW_MS, now: later + WINDOW_MS - 1 });
		expect([
			await rowsOf("limit_times", endpoint),
			await rowsOf("limit_budgets", endpoint),
			await rowsOf("limit_places", endpoint),
		]).toEqual([1, 1, 0]);
		await stores[1]!.forget({ windowMs: WINDOW_MS, now: later + WINDOW_MS });
		expect([await rowsOf("limit_times", endpoint), await rowsOf("limit_budgets", endpoint)]).toEqual([0, 0]);
	});

	it("D24: what is being counted is not removed, and no caller waits for it", async () => {
		const [busy, idle] = [fresh(), fresh()];
		for (const endpoint of [busy, idle]) await take({ endpoint, per10s: 9, concurrent: 9 });
		await admin.query("BEGIN");
		await admin.query("SELECT FROM limit_budgets JOIN limit_places USING (endpoint) WHERE endpoint = $1 FOR UPDATE", [
			busy,
		]);
		await stores[0]!.forget({ windowMs: WINDOW_MS, now: T0 + 2 * WINDOW_MS });
		await admin.query("COMMIT");
		for (const table of ["limit_budgets", "limit_times", "limit_places"])
			expect([await rowsOf(table, busy), await rowsOf(table, idle)], table).toEqual([1, 0]);
	});

	it("D24: counting writes nothing to the log of the database, so that it waits for no disk", async () => {
		const endpoint = fresh();
		await take({ endpoint, per10s: 900, concurrent: 900 });
		const kinds = await admin.query(
			"SELECT relname FROM pg_class WHERE relname LIKE 'limit!_%' ESCAPE '!' AND relkind " +
				"IN ('r', 'i') AND relpersistence <> 'u'",
		);
		expect(kinds.rows).toEqual([]);
	});
});
