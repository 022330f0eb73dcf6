/** The job clock of servers that share a database, whose clock or machine is set or stands (D16, D24). */
import { describe, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../../../../test/support/manual-clock.ts";
import { eventBus, type EventName } from "../../../events.ts";
import type { ClusterStore, LastSeen, TimeStore } from "../../../store/contract/cluster.ts";
import { StoreUnavailable } from "../../../store/contract/store.ts";
import { JobClock } from "./job-clock.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What the database has of the time; `wall` is its clock. */
function database(wall: () => number) {
	let seen: LastSeen | undefined;
	const stored: LastSeen[] = [];
	const time: TimeStore = {
		read: async () => seen,
		seen: async (q) => void stored.push((seen = q)),
	};
	return {
		time,
		wall,
		seen: () => seen,
		/** Every relation of the job clock to the time of day that was stored, ms. */
		ahead: () => [...new Set(stored.map(({ at, wall: then }) => then - at))],
	};
}

/** A server whose monotonic clock is `skew` ms ahead of the database's clock. */
function machine({ skew = 0, clock = manualClock(), from = database(() => clock.now()), server = "one" } = {}) {
	const link = { there: 0, back: 0, unreachable: false, skew: 0 };
	let leapt = 0;
	let wallFrozen = 0;
	let halted: Promise<void> | undefined;
	const own = {
		...clock,
		now: () => clock.now() + skew + leapt,
		wall: () => clock.wall() + skew - wallFrozen,
		async sleep(ms: number, signal?: AbortSignal) {
			await clock.sleep(ms, signal);
			await halted;
		},
	};
	const events = eventBus();
	const emitted: EventName[] = [];
	events.onAny((name) => emitted.push(name));
	const cluster = {
		async clock() {
			if (link.unreachable) throw new StoreUnavailable("unreachable", "stopped");
			await clock.sleep(link.there);
			const answer = { wall: from.wall() + link.skew, seen: from.seen() };
			await clock.sleep(link.back);
			return answer;
		},
	} as Pick<ClusterStore, "clock"> as ClusterStore;
	const time = new JobClock({ clock: own, events, store: { time: from.time, cluster }, server });
	const { services } = time;
	const begin = async (): Promise<void> => {
		const begun = time.prepare();
		let done = false;
		begun.then(
			() => (done = true),
			() => (done = true),
		);
		await advanceUntil(clock, () => done, link.there + link.back === 0 ? 0 : 100);
		await begun;
		for (const each of services) each.start();
		await clock.advance(0);
	};
	return {
		clock,
		time,
		link,
		from,
		/** Whether leases are to be extended before the next operation. */
		takeGap: () => time.takeGap(),
		emitted,
		begin,
		/** The server is stopped and continued: only its own clock shows it. */
		leap: (ms: number) => void (leapt += ms),
		/** Only this server does not run; `how`: which of its clocks go on. */
		async halt(ms: number, how: string) {
			const { promise, resolve } = Promise.withResolvers<void>();
			halted = promise;
			await clock.advance(ms);
			if (how !== "stopped") leapt -= ms;
			if (how === "frozen with its time of day") wallFrozen += ms;
			halted = undefined;
			resolve();
		},
		/** How far the job clock is from the database's clock. */
		error: () => time.now() - from.wall() - link.skew,
		end: async () => {
			const ends = services.map((each) => each.stop());
			await clock.advance(5000);
			await Promise.all(ends);
		},
	};
}

describe("D16, D24: the present where servers share a store", () => {
	it.each([0, 400, -400, HOUR, -24 * HOUR])("is the database's on a machine that is off by %i ms", async (skew) => {
		const m = machine({ skew });
		await m.begin();
		expect([m.error(), m.time.skewFromDatabase()]).toEqual([0, skew + m.clock.wall() - m.clock.now()]);
		expect(m.emitted).toEqual([]);
		expect(m.time.fault()).toBeUndefined();
		await m.end();
	});

	it("errs by the way back at most, and a worse measurement changes nothing", async () => {
		const m = machine({ skew: 5000 });
		Object.assign(m.link, { there: 300, back: 100 });
		await m.begin();
		await m.clock.advance(5000);
		expect(m.error()).toBe(-100);
		Object.assign(m.link, { there: 0, back: 0 });
		await m.clock.advance(5000);
		expect(m.error()).toBe(0);
		for (const worse of [
			{ there: 400, back: 0 },
			{ there: 0, back: 400 },
		]) {
			Object.assign(m.link, worse);
			await m.clock.advance(5000);
			expect(m.error()).toBe(0);
		}
		await m.end();
	});

	it("follows the database on a machine whose clock runs 5 % too fast", async () => {
		const m = machine();
		await m.begin();
		for (let n = 0; n < 40; n += 1) {
			m.leap(50);
			await m.clock.advance(1000);
			expect(m.error()).toBeGreaterThanOrEqual(0);
			expect(m.error()).toBeLessThanOrEqual(100);
		}
		expect(m.emitted).toEqual([]);
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
		await expect(m.begin()).rejects.toThrow(/over 1000 ms/);
	});

	it("a clock of the database that is set at each measurement moves no job time", async () => {
		const m = machine();
		await m.begin();
		await m.clock.advance(10);
		const before = m.time.now();
		for (let n = 1; n <= 20; n += 1) {
			m.link.skew = n * 2000;
			await m.clock.advance(2000);
		}
		expect(m.time.now()).toBe(before + 40_000);
		await m.end();
	});
});

describe("D16: the database's clock is set, or a standby with another clock is promoted", () => {
	it.each([HOUR, -HOUR, DAY, -DAY])(
		"by %i ms: the job clock goes on, and times shown are those of the database",
		async (ms) => {
			const m = machine();
			await m.begin();
			await m.clock.advance(10_000);
			const before = m.time.now();
			m.link.skew = ms;
			for (let n = 0; n < 100; n += 1) {
				await m.clock.advance(100);
				expect(m.time.now()).toBeGreaterThanOrEqual(before);
				expect(m.time.now()).toBeLessThanOrEqual(before + (n + 1) * 100);
			}
			expect(m.time.now()).toBe(before + 10_000);
			expect(m.takeGap()).toBe(false);
			expect(m.time.calendar.now()).toBe(m.from.wall() + ms);
			expect(m.time.calendar.of(before)).toBe(before + ms);
			expect(m.emitted).toEqual(["clock.stepped"]);
			await m.end();
		},
	);

	it.each([HOUR, -HOUR])("by %i ms: two servers agree on what the time of day is ahead", async (ms) => {
		const clock = manualClock();
		let set = 0;
		const from = database(() => clock.now() + set);
		const both = ["one", "two"].map((server) => machine({ clock, from, server }));
		for (const each of both) await each.begin();
		await clock.advance(700);
		const before = clock.now();
		set = ms;
		await clock.advance(10_000);
		expect(both.map(({ time }) => time.now())).toEqual([before + 10_000, before + 10_000]);
		expect(both.map(({ time }) => time.calendar.now())).toEqual([from.wall(), from.wall()]);
		expect(from.ahead()).toEqual([0, ms]);
		for (const each of both) await each.end();
	});

	it("set back while no server runs: the job clock continues where it was", async () => {
		const clock = manualClock();
		let set = 0;
		const from = database(() => clock.now() + set);
		const first = machine({ clock, from });
		await first.begin();
		await first.end();
		const { at } = from.seen()!;
		set = -HOUR;
		const second = machine({ clock, from });
		await second.begin();
		expect(second.time.now()).toBe(at);
		expect(second.time.calendar.now()).toBe(clock.now() - HOUR);
		await second.end();
	});
});

describe("D16: this server does not run for a while", () => {
	it.each([MINUTE, DAY])(
		"suspended with the database for %i ms: no job time passes; leases are extended",
		async (ms) => {
			const m = machine();
			await m.begin();
			await m.clock.advance(10_000);
			const before = m.time.now();
			m.clock.set(ms);
			m.link.skew = ms;
			await m.clock.advance(10_000);
			expect(m.time.now()).toBe(before + 10_000);
			expect(m.emitted).toEqual(["clock.stepped"]);
			expect([m.takeGap(), m.takeGap()]).toEqual([true, false]);
			await m.end();
		},
	);

	it("stopped for a minute without other servers: no job time passes; leases are extended", async () => {
		const m = machine();
		await m.begin();
		await m.clock.advance(10_000);
		const before = m.time.now();
		m.leap(MINUTE);
		m.link.skew = MINUTE;
		expect(m.time.now()).toBe(before);
		await m.clock.advance(10_000);
		expect(m.time.now()).toBeLessThanOrEqual(before + 10_000);
		expect(m.time.now()).toBeGreaterThan(before + 9500);
		expect(m.takeGap()).toBe(true);
		expect(m.emitted).toEqual(["service.away"]);
		await m.end();
	});

	it("operations wait until it is known for how long; not without the database", async () => {
		const m = machine();
		await m.begin();
		await m.clock.advance(10_000);
		const before = m.time.now();
		m.leap(MINUTE);
		m.link.skew = MINUTE;
		await m.from.time.seen({ at: before + MINUTE, wall: m.from.wall() + MINUTE, server: "two" });
		m.link.there = 100;
		let present: number | undefined;
		const settled = m.time.settled().then(() => (present = m.time.now()));
		await m.clock.advance(99);
		expect(m.time.now()).toBeLessThan(before + 1000);
		expect(present).toBeUndefined();
		expect(m.time.fault()).toMatch(/clock cannot be compared/);
		await m.clock.advance(1);
		await settled;
		expect(present).toBe(before + MINUTE + 100);
		expect(m.time.fault()).toBeUndefined();
		m.leap(MINUTE);
		m.link.unreachable = true;
		await expect(m.time.settled()).rejects.toThrow("stopped");
		await m.end();
	});

	it.each(["suspended", "stopped", "frozen with its time of day"])(
		"%s while another server runs: that one's time is the job time; leases are extended",
		async (how) => {
			const clock = manualClock();
			const from = database(() => clock.now());
			const [m, other] = ["one", "two"].map((server) => machine({ clock, from, server })) as [
				ReturnType<typeof machine>,
				ReturnType<typeof machine>,
			];
			await m.begin();
			await other.begin();
			await clock.advance(10_000);
			expect(m.takeGap()).toBe(false);
			await m.halt(10 * MINUTE, how);
			await clock.advance(3000);
			expect(m.time.now()).toBe(from.wall());
			expect(other.time.now()).toBe(from.wall());
			expect([m.takeGap(), other.takeGap()]).toEqual([true, false]);
			expect(from.ahead()).toEqual([0]);
			await m.end();
			await other.end();
		},
	);
});
