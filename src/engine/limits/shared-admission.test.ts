/**
 * Admission by several servers over one PostgreSQL: together they answer as one server does, also
 * when one of them dies or the database is unavailable.
 */
import fc from "fast-check";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { systemClock } from "../../clock.ts";
import { LIMITED_OPERATIONS } from "../../core/limits.ts";
import { admission, type AdmissionRequest } from "./admission.ts";
import { until, untilTrue } from "../../../test/support/until.ts";

import { connections, postgres, server, type Server, to, url, viewOf } from "../../../test/support/limits/servers.ts";

describe("several servers", () => {
	const step = fc.record({
		at: fc.nat(2),
		what: fc.constantFrom("ask", "ask", "ask", "release"),
		wait: fc.oneof(fc.constant(0), fc.nat(5), fc.nat(3000)),
		operation: fc.constantFrom("run", "cancel", "purge-queue"),
		which: fc.nat(9),
	});

	it("spec 8.1, D24: together answer as one server, in numbers, headers and refusals, at any of them", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80 }), async (steps) => {
				const clock = manualClock();
				const servers = [server(clock), server(clock), server(clock)];
				const one = admission(() => clock.now());
				for (const { loop } of servers) loop.start();
				const { endpoint } = to({
					run: { per10s: 6, concurrent: 3 },
					cancel: { per10s: "off", concurrent: 2 },
				});
				const held: (() => Promise<void>)[] = [];
				for (const { at, what, wait, operation, which } of steps) {
					await clock.advance(wait);
					for (const each of servers) await each.quiet();
					if (what === "release") await held.splice(which % Math.max(1, held.length), 1)[0]?.();
					else {
						const asked = { endpoint, operation } as AdmissionRequest;
						const [mine, right] = [await servers[at]!.admit(asked), one.admit(asked)];
						expect(viewOf(mine)).toEqual(viewOf(right));
						if (mine?.release)
							held.push(async () => {
								mine.release!();
								right!.release!();
								await servers[at]!.quiet();
							});
					}
				}
				for (const { faults, loop } of servers) {
					expect(faults).toEqual([]);
					await loop.stop();
				}
				for (const connection of connections.splice(0)) await connection.close();
			}),
			{ numRuns: 15 },
		);
	});

	it("spec 8.1, D24: of simultaneous requests exactly the limit passes, each response with the rest", async () => {
		const clock = manualClock();
		const servers = [server(clock), server(clock), server(clock)];
		for (const limits of [
			{ run: { per10s: 1000, concurrent: "off" } },
			{ run: { per10s: "off", concurrent: 200 } },
		] as const) {
			const asked = to(limits);
			const answers = await Promise.all(
				Array.from({ length: 1500 }, async (_, index) => {
					for (let turn = 0; turn < index % 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
					return await servers[index % 3]!.admit(asked);
				}),
			);
			const passed = answers.filter((answer) => answer?.release);
			const { per10s, concurrent } = limits.run;
			expect(passed).toHaveLength(per10s === "off" ? concurrent : per10s);
			if (per10s !== "off")
				expect(passed.map((answer) => answer?.quota?.remaining).toSorted((a, b) => a! - b!)).toEqual(
					Array.from({ length: per10s }, (_, index) => index),
				);
			expect(new Set(answers.filter((answer) => !answer?.release).map((answer) => answer?.refusal?.code))).toEqual(
				new Set([per10s === "off" ? "too_many_at_once" : "rate_limited"]),
			);
		}
		// One question for all that came meanwhile.
		for (const { asked } of servers) expect(asked()).toBeLessThan(300);
	});

	it("D24: places of a dead server are free within 10 s; those of a live one stay taken", async () => {
		const clock = manualClock();
		const [dies, lives, other] = [server(clock), server(clock), server(clock)];
		const asked = to({ run: { per10s: "off", concurrent: 2 } });
		lives.loop.start();
		for (const each of [dies, lives]) expect((await each.admit(asked))?.release).toBeDefined();
		expect((await other.admit(asked))?.refusal?.code).toBe("too_many_at_once");
		let freed = 0;
		for (let waited = 0; waited < 60_000; waited += 500) {
			await clock.advance(500);
			await lives.quiet();
			const answer = await other.admit(asked);
			if (!answer?.release) continue;
			freed = waited + 500;
			break;
		}
		expect(freed).toBeGreaterThan(2500);
		expect(freed).toBeLessThanOrEqual(10_000);
		for (let waited = 0; waited < 60_000; waited += 2500) {
			await clock.advance(2500);
			await lives.quiet();
		}
		expect((await server(clock).admit(asked))?.release).toBeDefined();
		expect((await server(clock).admit(asked))?.refusal?.code).toBe("too_many_at_once");
		await lives.loop.stop();
	});
});

describe("what is asked", () => {
	it("D24, D35: nothing about an endpoint without limits, and the answer is there at once", () => {
		const one = server(systemClock);
		for (const operation of LIMITED_OPERATIONS) expect(one.admit(to("off", operation))).toBeUndefined();
		expect([one.asked(), one.size]).toEqual([0, 0]);
	});

	it("D24: nothing about a rate known to be used up, until a place is free or the limit changes", async () => {
		const clock = manualClock();
		const [one, two] = [server(clock), server(clock)];
		const asked = to({ run: { per10s: 2, concurrent: "off" } });
		await one.admit(asked);
		await clock.advance(4000);
		await two.admit(asked);
		expect((await one.admit(asked))?.refusal?.retryAfter).toBe(6);
		const before = one.asked();
		await clock.advance(5999);
		for (let index = 0; index < 100; index += 1)
			expect(one.admit(asked)).toMatchObject({
				quota: { limit: 2, remaining: 0, reset: 1 },
				refusal: { code: "rate_limited", retryAfter: 1 },
			});
		expect(one.asked()).toBe(before);
		expect(
			(
				await one.admit({
					...asked,
					endpoint: { ...asked.endpoint, limits: { run: { per10s: 3, concurrent: "off" } } },
				})
			)?.quota?.remaining,
		).toBe(0);
		await clock.advance(1);
		expect((await one.admit(asked))?.refusal).toBeDefined();
		expect((await two.admit(asked))?.refusal).toBeDefined();
		await clock.advance(4000);
		expect((await one.admit(asked))?.quota).toEqual({ limit: 2, remaining: 0, reset: 6 });
	});

	it("D24: once about places of this server alone; each time about those of others, which may have ended", async () => {
		const [one, two] = [server(systemClock), server(systemClock)];
		const asked = to({ run: { per10s: "off", concurrent: 1 } });
		const held = await one.admit(asked);
		let before = one.asked();
		expect((await one.admit(asked))?.refusal?.code).toBe("too_many_at_once");
		expect(one.asked() - before).toBe(1);
		before = two.asked();
		const waits = two.admit(asked);
		await untilTrue(() => two.asked() - before >= 2);
		held?.release?.();
		expect((await waits)?.release).toBeDefined();
	});

	it("D24: unused budgets are let go, those in use are not", async () => {
		const clock = manualClock();
		const one = server(clock);
		one.loop.start();
		const held = await one.admit(to({}));
		for (let index = 0; index < 20; index += 1) (await one.admit(to({})))?.release?.();
		expect(one.size).toBe(21);
		await one.quiet();
		await clock.advance(2500);
		expect(one.size).toBe(1);
		held?.release?.();
		await one.quiet();
		await clock.advance(2500);
		expect(one.size).toBe(0);
		await one.loop.stop();
	});
});

describe("an unavailable database", () => {
	/**
	 * Asks until the servers count together again: the one that did not see this request counts it
	 * too.
	 */
	async function together(one: Server, two: Server): Promise<void> {
		for (;;) {
			const asked = to({ run: { per10s: 2, concurrent: "off" } });
			const left = [await one.admit(asked), await two.admit(asked)].map((answer) => answer?.quota?.remaining);
			if (left[0] === 1 && left[1] === 0) return;
			await new Promise((resolve) => setImmediate(resolve));
		}
	}

	it("D24: a crash forgets counts, not requests in flight; meanwhile each server counts alone, at once", async () => {
		const [one, two] = [server(systemClock), server(systemClock)];
		for (const { loop } of [one, two]) loop.start();
		const held = to({ run: { per10s: 5, concurrent: 2 } });
		for (const each of [one, two]) expect((await each.admit(held))?.release).toBeDefined();
		await postgres.stop("immediate");
		const counted = to({ run: { per10s: 3, concurrent: "off" } });
		await one.admit(counted);
		const began = performance.now();
		const alone = await Promise.all(Array.from({ length: 4 }, async () => await one.admit(counted)));
		expect(performance.now() - began).toBeLessThan(100);
		expect(alone.map((answer) => answer?.quota?.remaining)).toEqual([1, 0, 0, 0]);
		expect(alone.map((answer) => answer?.refusal?.code)).toEqual([
			undefined,
			undefined,
			"rate_limited",
			"rate_limited",
		]);
		await two.admit(counted);
		for (const { faults } of [one, two])
			expect(faults).toEqual([expect.stringMatching(/^counting requests together with the other servers: /)]);
		await postgres.start();
		await together(one, two);
		await one.quiet();
		await two.quiet();
		expect((await server(systemClock).admit(held))?.refusal?.code).toBe("too_many_at_once");
		for (const { loop } of [one, two]) await loop.stop();
	});

	it("D24: a database without an answer holds no request up for long, also behind the end of another", async () => {
		const [one, two] = [server(systemClock), server(systemClock)];
		for (const { loop } of [one, two]) loop.start();
		await together(one, two);
		const asked = to({ run: { per10s: 10, concurrent: 4 } });
		const ended = await one.admit(asked);
		expect((await one.admit(asked))?.quota?.remaining).toBe(8);
		await one.quiet();
		const blocker = new Client({ connectionString: url });
		await blocker.connect();
		await blocker.query("BEGIN");
		await blocker.query("LOCK TABLE limit_budgets, limit_places IN ACCESS EXCLUSIVE MODE");
		const before = one.asked();
		ended?.release?.();
		await untilTrue(() => one.asked() > before);
		const began = performance.now();
		const late = await Promise.all(Array.from({ length: 5 }, async () => await one.admit(asked)));
		expect(performance.now() - began).toBeLessThan(1500);
		expect(late.filter((answer) => answer?.release)).toHaveLength(4);
		expect(one.admit(asked)).toMatchObject({ refusal: { code: "too_many_at_once" } });
		expect(one.faults).toEqual([expect.stringContaining("The store gave no answer in 1000 ms.")]);
		await blocker.query("ROLLBACK");
		await blocker.end();
		await together(one, two);
		// What is held together is what was before: those of the time between were counted alone.
		await one.quiet();
		expect(await Promise.all(Array.from({ length: 4 }, async () => (await two.admit(asked))?.refusal?.code))).toEqual([
			undefined,
			undefined,
			undefined,
			"too_many_at_once",
		]);
		for (const { loop } of [one, two]) await loop.stop();
	});

	it("D24: the word of an end that was lost with its connection is said again", async () => {
		const [one, two] = [server(systemClock), server(systemClock)];
		one.loop.start();
		await together(one, two);
		const asked = to({ run: { per10s: "off", concurrent: 1 } });
		const held = await one.admit(asked);
		const blocker = new Client({ connectionString: url });
		await blocker.connect();
		await blocker.query("BEGIN");
		await blocker.query("LOCK TABLE limit_places IN ACCESS EXCLUSIVE MODE");
		held?.release?.();
		const ended =
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() " +
			"AND wait_event_type = 'Lock'";
		await until("a wait for a lock", async () => (await blocker.query(ended)).rows[0]);
		await blocker.query("ROLLBACK");
		await blocker.end();
		await together(one, two);
		await one.quiet();
		expect((await two.admit(asked))?.release).toBeDefined();
		await one.loop.stop();
	});

	it("D24: what is granted too late is not held", async () => {
		const [one, two] = [server(systemClock), server(systemClock)];
		one.loop.start();
		await together(one, two);
		const asked = to({ run: { per10s: "off", concurrent: 2 } });
		const blocker = new Client({ connectionString: url });
		await blocker.connect();
		await blocker.query("BEGIN");
		await blocker.query("LOCK TABLE limit_budgets IN ACCESS EXCLUSIVE MODE");
		for (const answer of await Promise.all([one.admit(asked), one.admit(asked)])) answer?.release?.();
		await blocker.query("ROLLBACK");
		await blocker.end();
		await together(one, two);
		await one.quiet();
		for (let index = 0; index < 2; index += 1) expect((await two.admit(asked))?.release).toBeDefined();
		await one.loop.stop();
	});
});
