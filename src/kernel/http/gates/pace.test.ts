import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { pace } from "./pace.ts";

function paced(): {
	clock: ReturnType<typeof manualClock>;
	paces: ReturnType<typeof pace>;
	/** Runs calls of `ms` each one after the other until the time is over; how many ended. */
	flood: (owner: string, ms: number, forMs: number) => Promise<number>;
} {
	const clock = manualClock();
	const paces = pace(clock);
	return {
		clock,
		paces,
		async flood(owner, ms, forMs) {
			const until = clock.now() + forMs;
			let ended = 0;
			const lanes = Array.from({ length: 16 }, async () => {
				while (clock.now() < until) {
					const turn = await paces.enter(owner);
					await clock.sleep(ms);
					turn.end();
					ended += 1;
				}
			});
			await clock.advance(forMs);
			void Promise.all(lanes);
			return ended;
		},
	};
}

const STAYS = { disconnected: false };

describe("the pace of management calls", () => {
	it("D41: calls of one key run for 150 ms of a second, those of another key do not wait", async () => {
		const { clock, paces, flood } = paced();
		await paces.spend("greedy", 299, STAYS);
		const began = clock.now();
		const ended = await flood("greedy", 20, 10_000);
		expect(ended).toBeGreaterThan(60);
		expect(ended * 20).toBeLessThanOrEqual(0.15 * 10_000 + 100);
		const turn = paces.enter("other").then((each) => ({ each, at: clock.now() }));
		await clock.advance(0);
		const { each, at } = await turn;
		expect(at).toBe(began + 10_000);
		each.end();
	});

	it("D41: calls within the budget run at once, four side by side", async () => {
		const { clock, paces } = paced();
		const turns = await Promise.all(Array.from({ length: 4 }, () => paces.enter("console")));
		let fifth = false;
		const last = paces.enter("console").finally(() => (fifth = true));
		await clock.advance(200);
		expect(fifth).toBe(false);
		for (const turn of turns) turn.end();
		(await last).end();
		const before = clock.now();
		(await paces.enter("console")).end();
		expect(clock.now()).toBe(before);
	});

	it("D41: time outside is not charged, and neither is what the store kept waiting", async () => {
		const { clock, paces } = paced();
		const turn = await paces.enter("slow client");
		const outside = turn.outside(clock.sleep(60_000));
		await clock.advance(60_000);
		await outside;
		turn.end();
		const before = clock.now();
		(await paces.enter("slow client")).end();
		expect(clock.now()).toBe(before);

		const kept = await paces.enter("outage");
		await clock.advance(60_000);
		kept.end(true);
		const next = paces.enter("outage");
		await clock.advance(2);
		(await next).end();
	});

	it("D41: the longest debt is paid in seconds: a suspended machine locks no key out", async () => {
		const { clock, paces } = paced();
		const turn = await paces.enter("suspended");
		await clock.leap(86_400_000);
		turn.end();
		let entered = false;
		void paces.enter("suspended").then(() => (entered = true));
		await clock.advance(11_000);
		expect(entered).toBe(false);
		await clock.advance(1001);
		expect(entered).toBe(true);
	});

	it("D41: what was spent is paid by the next call", async () => {
		const { clock, paces } = paced();
		await paces.spend("large", 299, STAYS);
		await paces.spend("large", 250, STAYS);
		let entered = false;
		void paces.enter("large").then(() => (entered = true));
		await clock.advance(1655);
		expect(entered).toBe(false);
		await clock.advance(20);
		expect(entered).toBe(true);
	});

	it("D41: calls whose client has left make room for others; beyond 256 that wait, one is refused", async () => {
		const { clock, paces } = paced();
		await paces.spend("address", 1000, STAYS);
		const leaves = { disconnected: false };
		const left = Array.from({ length: 100 }, () => paces.spend("address", 1, leaves));
		const stay = Array.from({ length: 156 }, () => paces.spend("address", 1, STAYS));
		expect(await paces.spend("address", 1, STAYS)).toBe(false);
		leaves.disconnected = true;
		const last = paces.spend("address", 1, STAYS);
		expect(new Set(await Promise.all(left))).toEqual(new Set([false]));
		await clock.advance(60_000);
		expect(new Set(await Promise.all([...stay, last]))).toEqual(new Set([true]));
	});
});
