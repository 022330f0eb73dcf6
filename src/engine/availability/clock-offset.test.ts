/** The present by the database's clock, on a machine whose own clock is wrong, jumps or stands. */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import type { EventName } from "../../events.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { jobClock } from "./job-clock.ts";
import { suspendDetector } from "./suspend-detector.ts";

const HOUR = 3_600_000;

/**
 * A server whose clock is `skew` ms ahead of the database's; answers take `there` and `back` ms.
 */
function machine({ skew = 0 }: { skew?: number } = {}) {
	const clock = manualClock();
	const link = { there: 0, back: 0, unreachable: false, skew };
	let set = 0;
	const own = { now: () => clock.now() + set, sleep: clock.sleep };
	const events = eventBus();
	const emitted: EventName[] = [];
	events.onAny((name) => emitted.push(name));
	const time = jobClock({
		clock: own,
		events,
		databaseClock: async () => {
			if (link.unreachable) throw new StoreUnavailable("unreachable", "stopped");
			await clock.sleep(link.there);
			const now = clock.now() - link.skew;
			await clock.sleep(link.back);
			return now;
		},
	});
	const detector = suspendDetector({ clock: own, jobClock: time, events });
	const services = [detector.service, ...time.services];
	const begin = async (): Promise<void> => {
		const begun = time.prepare();
		begun.catch(() => {});
		await clock.advance(60_000 * Number(link.there + link.back > 0));
		await begun;
		for (const each of services) each.start();
	};
	return {
		clock,
		time,
		link,
		/** Whether leases are to be extended before the next operation. */
		takeGap: detector.takeGap,
		emitted,
		begin,
		/** This machine's clock is set. */
		set: (ms: number) => void (set += ms),
		/** How far the present is from the database's. */
		error: () => time.now() - (clock.now() - link.skew),
		end: async () => {
			const ends = services.map((each) => each.stop());
			await clock.advance(5000);
			await Promise.all(ends);
		},
	};
}

describe("D16, D24: the present where servers share a store", () => {
	it.each([0, 400, -400, HOUR, -24 * HOUR])(
		"is the database's on a machine that is off by %i ms",
		async (skew) => {
			const m = machine({ skew });
			await m.begin();
			expect(m.error()).toBe(0);
			expect(m.emitted).toEqual([]);
			expect(m.time.fault()).toBeUndefined();
			await m.end();
		},
	);

	it("errs by half the difference of the ways at most, and takes the best of several measures", async () => {
		const m = machine({ skew: 5000 });
		Object.assign(m.link, { there: 300, back: 100 });
		await m.begin();
		await m.clock.advance(5000);
		expect(m.error()).toBe(100);
		Object.assign(m.link, { there: 0, back: 0 });
		await m.clock.advance(5000);
		expect(m.error()).toBe(0);
		Object.assign(m.link, { there: 400, back: 0 });
		await m.clock.advance(5000);
		expect(m.error()).toBe(0);
		await m.end();
	});

	it("a correction never turns it back", async () => {
		const m = machine();
		Object.assign(m.link, { there: 400, back: 0 });
		await m.begin();
		let last = m.time.now();
		Object.assign(m.link, { there: 0, back: 0 });
		for (let n = 0; n < 50; n += 1) {
			await m.clock.advance(100);
			expect(m.time.now()).toBeGreaterThanOrEqual(last);
			last = m.time.now();
		}
		expect(m.error()).toBe(0);
		await m.end();
	});

	it("this machine's clock is set: it is measured again before the present moves, and nothing lapses", async () => {
		const m = machine();
		await m.begin();
		const before = m.time.now();
		m.set(HOUR);
		expect(m.time.now()).toBe(before);
		expect(m.time.fault()).toMatch(/clock cannot be compared/);
		await m.clock.advance(250);
		expect(m.error()).toBe(0);
		expect(m.time.fault()).toBeUndefined();
		expect(m.takeGap()).toBe(false);
		await m.end();
	});

	it("D16: the machine was suspended: after the measure it is later, and every lease is extended first", async () => {
		const m = machine();
		await m.begin();
		m.set(HOUR);
		m.link.skew -= HOUR;
		const before = m.time.now();
		await m.clock.advance(250);
		expect(m.time.now()).toBe(before + HOUR + 250);
		expect([m.takeGap(), m.takeGap()]).toEqual([true, false]);
		expect(m.emitted).toContain("service.away");
		await m.end();
	});

	it("without the database it goes on by this machine's clock; after 30 s it is not relied on", async () => {
		const m = machine({ skew: 3000 });
		await m.begin();
		m.link.unreachable = true;
		await m.clock.advance(29_000);
		expect(m.error()).toBe(0);
		expect(m.time.fault()).toBeUndefined();
		await m.clock.advance(4000);
		expect(m.time.fault()).toMatch(/clock cannot be compared/);
		m.link.unreachable = false;
		await m.clock.advance(4000);
		expect(m.time.fault()).toBeUndefined();
		expect(m.emitted).toEqual([]);
		await m.end();
	});

	it("a round trip of over a second is ignored: it does not start", async () => {
		const m = machine();
		Object.assign(m.link, { there: 600, back: 600 });
		await expect(m.begin()).rejects.toThrow(/over 1000 ms.*NTP/);
	});

	it("an offset that jumps at each measure is not relied on, one that jumps once is", async () => {
		const m = machine();
		await m.begin();
		await m.clock.advance(10);
		m.link.skew = 2000;
		await m.clock.advance(2000);
		expect(m.time.fault()).toMatch(/clock cannot be compared/);
		for (let n = 2; n < 20; n += 1) {
			m.link.skew = n * 2000;
			await m.clock.advance(200);
			expect(m.time.fault()).toMatch(/clock cannot be compared/);
		}
		await m.clock.advance(400);
		expect(m.time.fault()).toBeUndefined();
		expect(m.error()).toBe(0);
		await m.end();
	});
});
