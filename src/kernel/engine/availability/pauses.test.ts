/** A service that did not run for a while, over a real SQLite store (D16 Outages). */
import { afterEach, describe, expect, it } from "vitest";
import { folder } from "../../../../test/support/service.ts";
import { LEASE, type Site, siteOf, T0 } from "../../../../test/store/site.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import { openSqlite } from "../../store/sqlite/open.ts";
import { createAvailability } from "./availability.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).toReversed()) await end();
});

async function sample() {
	const place = folder();
	const store = await openSqlite({ path: `${place.path}/sluice.db` });
	ends.push(
		() => place.remove(),
		() => store.close(),
	);
	const clock = manualClock(T0);
	const events = eventBus();
	const gaps: number[] = [];
	events.on("service.away", ({ ms }) => gaps.push(ms));
	const availability = createAvailability({ clock, events, store });
	await availability.time.prepare();
	return { clock, gaps, availability, site: siteOf(availability.store) };
}

describe("D16: the machine was suspended for longer than the lease", () => {
	it.each<[string, (site: Site, id: string, now: number) => Promise<unknown>]>([
		["a read", (site, id, now) => site.get(id, now)],
		["a claim", (site, _id, now) => site.take({ worker: "w2", now })],
		["a ping", (site, id, now) => site.ping([id], { now })],
		["the sweep", (site, _id, now) => site.settle(now)],
	])("%s is the first operation, and finds the leases extended", async (_, first) => {
		const { clock, gaps, availability, site } = await sample();
		const { id } = await site.running();
		await clock.advance(1.5 * LEASE);
		await first(site, id, availability.time.now());
		expect(await site.state(id, availability.time.now())).toBe("IN_PROGRESS");
		expect((await site.counts(availability.time.now())).retried).toBe(0);
		expect(gaps).toEqual([1.5 * LEASE]);
	});

	it("reading the time changes nothing: only the next operation extends leases", async () => {
		const { clock, gaps, availability, site } = await sample();
		await site.running();
		await clock.advance(1.5 * LEASE);
		expect(availability.time.now()).toBe(T0);
		expect(gaps).toEqual([]);
		await site.counts(availability.time.now());
		expect(gaps).toHaveLength(1);
	});

	it("the loop notices it too, and the operation after it extends the leases", async () => {
		const { clock, gaps, availability, site } = await sample();
		const { id } = await site.running();
		const [, detector] = availability.services;
		detector!.start();
		await clock.advance(0);
		await clock.leap(1.5 * LEASE);
		expect(gaps).toEqual([1.5 * LEASE]);
		await site.settle(availability.time.now());
		expect(await site.state(id, availability.time.now())).toBe("IN_PROGRESS");
		const stopped = detector!.stop();
		await clock.advance(1000);
		await stopped;
	});

	it("a running service extends nothing: a lease that is not renewed ends", async () => {
		const { clock, gaps, availability, site } = await sample();
		const { id } = await site.running();
		const [, detector] = availability.services;
		detector!.start();
		await clock.advance(1.5 * LEASE);
		await site.settle(availability.time.now());
		expect(await site.state(id, availability.time.now())).toBe("IN_QUEUE");
		expect(gaps).toEqual([]);
		const stopped = detector!.stop();
		await clock.advance(1000);
		await stopped;
	});
});
