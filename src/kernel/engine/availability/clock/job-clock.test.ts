/** The job clock of one server over a real SQLite store: the time of day is set, the machine suspended. */
import { afterEach, describe, expect, it } from "vitest";
import { folder } from "../../../../../test/support/service.ts";
import { LEASE, siteOf, T0 } from "../../../../../test/store/site.ts";
import { advanceUntil, manualClock, type ManualClock } from "../../../../../test/support/manual-clock.ts";
import { eventBus } from "../../../events.ts";
import { openSqlite } from "../../../store/sqlite/open.ts";
import { createAvailability } from "../availability.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).toReversed()) await end();
});

/** A server; `stop` ends it as `SIGTERM` does, `crash` as `SIGKILL`. */
async function server(path: string, clock: ManualClock) {
	const store = await openSqlite({ path: `${path}/sluice.db` });
	const events = eventBus();
	const emitted: unknown[] = [];
	events.onAny((name, facts) => emitted.push([name, facts]));
	const availability = createAvailability({ clock, events, store });
	await availability.time.prepare();
	for (const each of availability.services) each.start();
	await clock.advance(1000);
	let running = true;
	async function end(graceful: boolean): Promise<void> {
		if (!running) return;
		running = false;
		if (!graceful) await store.close();
		for (const each of availability.services.toReversed()) {
			const stopped = each.stop();
			await clock.advance(1000);
			await stopped;
		}
		await store.close();
	}
	ends.push(() => end(true));
	const { time } = availability;
	const { calendar } = time;
	const now = () => time.now();
	return {
		now,
		calendar,
		emitted,
		site: siteOf(availability.store),
		/** Resolves when the time of day is stored as it is now. */
		async saved() {
			const stored = async () => {
				const { at, wall } = (await store.time.read())!;
				return wall - at === clock.wall() - now();
			};
			await advanceUntil(clock, stored, 0);
		},
		stop: () => end(true),
		crash: () => end(false),
	};
}

function place(): string {
	const made = folder();
	ends.push(() => made.remove());
	return made.path;
}

describe("D16: the time of day is set while the service runs", () => {
	it.each([HOUR, -HOUR, DAY, -DAY])(
		"by %i ms: results, waiting and running jobs and leases are as before; times shown follow",
		async (ms) => {
			const hand = manualClock(T0);
			const { now, calendar, emitted, site } = await server(place(), hand);
			const ended = await site.running({ now: now() });
			await site.report(ended.id, { output: "1", now: now() });
			const { id } = await site.running({ now: now() });
			const waiting = await site.add({ now: now() });
			const before = now();
			hand.set(ms);
			expect(now()).toBe(before);
			await hand.advance(LEASE / 2);
			await site.settle(now());
			expect(await site.state(id, now())).toBe("IN_PROGRESS");
			expect(await site.state(waiting.id, now())).toBe("IN_QUEUE");
			expect((await site.get(ended.id, now()))?.output).toBeDefined();
			expect(calendar.now()).toBe(hand.wall());
			expect(calendar.of(before)).toBe(before + ms);
			expect(calendar.jobTime(hand.wall())).toBe(now());
			expect(emitted).toEqual([["clock.stepped", { ms }]]);
			// A step forward may have been a suspension, for which leases are extended.
			await hand.advance(ms > 0 ? LEASE : LEASE / 2);
			await site.settle(now());
			expect(await site.state(id, now())).toBe("IN_QUEUE");
		},
	);

	it("small corrections leave no trace", async () => {
		const hand = manualClock(T0);
		const { now, emitted } = await server(place(), hand);
		for (let n = 0; n < 100; n += 1) {
			hand.set(n % 2 === 0 ? 200 : -200);
			await hand.advance(250);
		}
		expect(now()).toBe(hand.now());
		expect(emitted).toEqual([]);
	});

	it.each([260, 760, -760])("a move of %i ms is followed at once, not in the middle of later waits", async (ms) => {
		const hand = manualClock(T0);
		const { now, emitted, site } = await server(place(), hand);
		// The store answers in order: after this the measurement of the start is complete.
		await site.settle(now());
		const ahead = now() - hand.now();
		hand.set(ms);
		await hand.advance(250);
		// An operation of the store waits until the move is measured.
		await site.settle(now());
		await hand.advance(1000);
		expect(now() - hand.now()).toBe(ahead + ms);
		expect(emitted).toEqual([]);
	});
});

describe("D16: the service does not run", () => {
	it.each([1000, MINUTE, DAY])("suspended for %i ms: no job time passes; leases are extended", async (ms) => {
		const hand = manualClock(T0);
		const { now, calendar, emitted, site } = await server(place(), hand);
		const { id } = await site.running({ now: now() });
		const waiting = await site.add({ now: now() });
		await hand.advance(LEASE / 2);
		hand.set(ms);
		await hand.advance(LEASE - 1000);
		await site.settle(now());
		expect(await site.state(id, now())).toBe("IN_PROGRESS");
		expect(await site.state(waiting.id, now())).toBe("IN_QUEUE");
		expect(calendar.now()).toBe(hand.wall());
		expect(emitted).toEqual(ms > 1000 ? [["clock.stepped", { ms }]] : []);
	});

	it("stopped for a minute and continued: results stay, deadlines wait", async () => {
		const hand = manualClock(T0);
		const { now, calendar, site } = await server(place(), hand);
		const { id } = await site.running({ now: now() });
		const before = now();
		await hand.leap(MINUTE);
		expect(now()).toBe(before);
		await site.settle(now());
		expect(await site.state(id, now())).toBe("IN_PROGRESS");
		expect(calendar.now()).toBe(hand.wall());
	});
});

describe("D16: a restart after the time of day was set", () => {
	it.each([
		["stopped", HOUR],
		["stopped", -DAY],
		["killed", DAY],
		["killed", -HOUR],
	])("%s after a step of %i ms: the job clock goes on by the time that passed", async (how, ms) => {
		const hand = manualClock(T0);
		const path = place();
		const first = await server(path, hand);
		hand.set(ms);
		await hand.advance(5000);
		await first.saved();
		const before = first.now();
		await (how === "killed" ? first.crash() : first.stop());
		const down = hand.now();
		await hand.leap(MINUTE);
		const second = await server(path, hand);
		expect(second.now() - before - (hand.now() - down)).toBeLessThanOrEqual(4000);
		expect(second.now() - before - (hand.now() - down)).toBeGreaterThanOrEqual(0);
		expect(second.calendar.now()).toBe(hand.wall());
		expect(second.emitted).toEqual([]);
	});

	it("set forward while it is down: passes, as a longer downtime would", async () => {
		const hand = manualClock(T0);
		const path = place();
		const first = await server(path, hand);
		await first.stop();
		const at = first.now();
		hand.set(HOUR);
		await hand.leap(MINUTE);
		const second = await server(path, hand);
		expect(second.now()).toBe(at + HOUR + MINUTE + 1000);
		expect(second.calendar.now()).toBe(hand.wall());
	});

	it("set back while it is down: the job clock goes on where it was", async () => {
		const hand = manualClock(T0);
		const path = place();
		const first = await server(path, hand);
		await hand.advance(10 * MINUTE);
		const at = first.now();
		await first.stop();
		hand.set(-DAY);
		const second = await server(path, hand);
		expect(second.now()).toBeGreaterThanOrEqual(at);
		expect(second.now()).toBeLessThanOrEqual(at + 4000);
		expect(second.calendar.now()).toBe(hand.wall());
		const { id } = await second.site.running({ now: second.now() });
		expect(await second.site.state(id, second.now())).toBe("IN_PROGRESS");
	});

	it("a day of downtime passes for jobs, too", async () => {
		const hand = manualClock(T0);
		const path = place();
		const first = await server(path, hand);
		await first.stop();
		const at = first.now();
		await hand.leap(DAY);
		const second = await server(path, hand);
		expect(second.now()).toBe(at + DAY + 1000);
		expect(second.emitted).toEqual([]);
	});
});
