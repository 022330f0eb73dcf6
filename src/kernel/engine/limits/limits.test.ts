/**
 * Limits of several servers over one store: none refuses below the limit, and what they admit too much
 * is bounded.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../../../../test/support/manual-clock.ts";
import { asked, atOnce, burst, LimitServers, rate, request } from "../../../../test/support/limit-servers.ts";
import { WINDOW_MS } from "../../core/endpoints/rate-window.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Admission } from "./admission.ts";

/** What a server knows of the others is at most this old, ms. */
const LAG_MS = 1000;

/** Requests of this time are reported at the moment of the first one, ms. */
const STEP_MS = 100;

let clock: ManualClock;
let group: LimitServers;

beforeEach(() => {
	clock = manualClock();
	group = new LimitServers(clock);
});

describe("the rate of several servers", () => {
	const step = fc.record({ at: fc.nat(2), wait: fc.oneof(fc.constant(0), fc.nat(50), fc.nat(4000)), count: fc.nat(5) });

	it("spec 8.1, D24: none refuses below the limit, or admits beyond it but for the others' last second", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
				clock = manualClock();
				group = new LimitServers(clock);
				const servers = await Promise.all(["a", "b", "c"].map((id) => group.start(id)));
				const admitted: { at: number; by: number }[] = [];
				for (const { at, wait, count } of steps) {
					await clock.advance(wait);
					const now = clock.now();
					for (let index = 0; index < count; index += 1) {
						const { release, quota, refusal } = asked(servers[at]!, rate(6));
						const known = admitted.filter((each) =>
							each.by === at
								? each.at > now - WINDOW_MS
								: each.at > now - WINDOW_MS + STEP_MS && each.at < now - LAG_MS,
						);
						const all = admitted.filter((each) => each.at > now - WINDOW_MS);
						if (release) {
							expect(known.length).toBeLessThan(6);
							expect(quota!.remaining).toBeLessThan(6 - known.length);
							admitted.push({ at: now, by: at });
						} else {
							expect(all.length).toBeGreaterThanOrEqual(6);
							expect(refusal!.retryAfter).toBeLessThanOrEqual(10);
						}
					}
				}
				for (const server of servers) {
					expect(server.faults).toEqual([]);
					await server.stop();
				}
			}),
			{ numRuns: 40 },
		);
	});

	it("D24: what one admitted counts at the others a second later, until it is 10 s old", async () => {
		const [a, b] = await group.pair();
		expect(burst(a, rate(5), 9)).toBe(5);
		await clock.advance(LAG_MS);
		expect(asked(b, rate(5))).toEqual({
			quota: { limit: 5, remaining: 0, reset: 9 },
			refusal: expect.objectContaining({ code: "rate_limited", retryAfter: 9 }),
		});
		expect(asked(b, rate(7)).quota).toEqual({ limit: 7, remaining: 1, reset: 9 });
		await clock.advance(WINDOW_MS - LAG_MS);
		expect(burst(b, rate(5), 9)).toBe(4);
	});

	it("D24: nothing is stored or read with limits off, and nothing stored without new requests", async () => {
		const alone = await group.single();
		group.calls = [];
		for (let index = 0; index < 50; index += 1) expect(alone.admit(request("off"))).toBeUndefined();
		await clock.advance(30_000);
		expect(group.calls).toEqual([]);
		burst(alone, rate(5), 5);
		await clock.advance(30_000);
		expect(group.calls).toEqual(["put"]);
	});
});

describe("requests in flight at several servers", () => {
	it("D24: one that has ended since the last report refuses none: the next report decides", async () => {
		const [a, b] = await group.pair();
		const held = asked(a, atOnce(1));
		await clock.advance(LAG_MS);
		held.release!();
		const answer = b.admit(atOnce(1));
		expect(answer).toBeInstanceOf(Promise);
		let decided: Admission | undefined;
		void (answer as Promise<Admission>).then((admission) => (decided = admission));
		await clock.advance(LAG_MS);
		expect(decided?.release).toBeDefined();
		expect([a, b].flatMap(({ faults }) => faults)).toEqual([]);
	});

	it("D24: one that still runs by a later report refuses; more than the limit never wait", async () => {
		const [a, b] = await group.pair();
		for (let index = 0; index < 2; index += 1) asked(a, atOnce(2));
		await clock.advance(LAG_MS);
		const decided: (string | undefined)[] = [];
		for (let index = 0; index < 2; index += 1)
			void (b.admit(atOnce(2)) as Promise<Admission>).then(({ refusal }) => decided.push(refusal?.code));
		expect(asked(b, atOnce(2)).refusal?.code).toBe("too_many_at_once");
		expect(decided).toEqual([]);
		await clock.advance(LAG_MS);
		expect(decided).toEqual(["too_many_at_once", "too_many_at_once"]);
	});

	it("D24: an end at the limit is reported at once, not at the next regular exchange", async () => {
		const [a, b] = await group.pair();
		const held = asked(a, atOnce(1));
		await clock.advance(LAG_MS);
		let decided: Admission | undefined;
		void (b.admit(atOnce(1)) as Promise<Admission>).then((admission) => (decided = admission));
		await clock.advance(120);
		held.release!();
		await clock.advance(200);
		expect(decided?.release).toBeDefined();
	});

	it("D24: those of a dead server count until it has been silent for 3.5 s", async () => {
		const [a, b] = await group.pair();
		for (let index = 0; index < 2; index += 1) asked(a, atOnce(2));
		await clock.advance(LAG_MS);
		await a.kill();
		let decided: Admission | undefined;
		void (b.admit(atOnce(2)) as Promise<Admission>).then((admission) => (decided = admission));
		await clock.advance(2400);
		expect(decided).toBeUndefined();
		await clock.advance(1200);
		expect(decided?.release).toBeDefined();
	});

	it("D24: a server that stops decides about those that wait", async () => {
		const [a, b] = await group.pair();
		asked(a, atOnce(1));
		await clock.advance(LAG_MS);
		const waits = b.admit(atOnce(1));
		await b.stop();
		expect((await waits)?.release).toBeDefined();
	});
});

describe("a store that does not answer", () => {
	it("D24: each server counts alone, and stores later what it could not", async () => {
		const [a, b] = await group.pair();
		group.fails = new StoreUnavailable("unreachable", "no answer");
		expect([burst(a, rate(5), 9), burst(b, rate(5), 9)]).toEqual([5, 5]);
		await clock.advance(3000);
		group.fails = undefined;
		await clock.advance(2000);
		const c = await group.start("c");
		expect(asked(c, rate(30)).quota?.remaining).toBe(19);
		expect([...a.faults, ...b.faults]).toEqual([]);
		group.fails = new Error("broken");
		await clock.advance(1000);
		expect(a.faults[0]).toBe("exchanging counts of requests: broken");
	});

	it("D24: it holds no request for long", async () => {
		const [a, b] = await group.pair();
		asked(a, atOnce(1));
		await clock.advance(LAG_MS);
		const answered = Promise.withResolvers<void>();
		group.hangs = answered.promise;
		let decided: Admission | undefined;
		void (b.admit(atOnce(1)) as Promise<Admission>).then((admission) => (decided = admission));
		await clock.advance(5000);
		expect(decided?.release).toBeDefined();
		answered.resolve();
	});
});
