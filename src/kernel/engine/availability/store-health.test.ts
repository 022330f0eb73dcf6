/**
 * The gate before the store, over a real SQLite store whose calls fail when the test says so:
 * leases are extended before anything happens to jobs (D16 Outages).
 */
import { afterEach, describe, expect, it } from "vitest";
import { folder } from "../../../../test/support/service.ts";
import { LEASE, type Site, siteOf, T0 } from "../../../../test/store/site.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { eventBus, type EventName } from "../../events.ts";
import { openSqlite } from "../../store/sqlite/open.ts";
import { type Store, StoreUnavailable } from "../../store/contract/store.ts";
import { StoreHealth } from "./store-health.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).toReversed()) await end();
});

/** A store that can be unavailable. */
async function sample() {
	const place = folder();
	const real = await openSqlite({ path: `${place.path}/sluice.db` });
	ends.push(
		() => place.remove(),
		() => real.close(),
	);
	const link: { fault: Error | undefined } = { fault: undefined };
	const asked: string[] = [];
	const failing = (value: unknown, path: string): unknown => {
		if (typeof value === "function") {
			return (...q: unknown[]) => {
				asked.push(path);
				return link.fault ? Promise.reject(link.fault) : (value as (...all: unknown[]) => unknown)(...q);
			};
		}
		if (typeof value !== "object" || value === null) return value;
		return Object.fromEntries(
			Object.entries(value).map(([name, inner]) => [name, failing(inner, path === "" ? name : `${path}.${name}`)]),
		);
	};
	const clock = manualClock(T0);
	const events = eventBus();
	const emitted: EventName[] = [];
	events.onAny((name) => emitted.push(name));
	let gap = false;
	let behind = 0;
	const health = new StoreHealth({
		clock,
		time: {
			now: () => clock.now() - behind,
			settled: async () => void (behind = 0),
			takeGap: () => gap && !(gap = false),
		},
		store: failing(real, "") as Store,
		events,
	});
	/** The service did not run, and does not know yet for how long. */
	const suspend = (ms = 0): void => {
		gap = true;
		behind = ms;
	};
	return { clock, link, asked, emitted, health, suspend, site: siteOf(health.store) };
}

const UNREACHABLE = new StoreUnavailable("unreachable", "stopped");

/**
 * Each is the first that anybody asks after an outage in which the lease of a running job ended.
 */
const FIRST: [string, (site: Site, id: string, now: number) => Promise<unknown>][] = [
	["a read", (site, id, now) => site.get(id, now)],
	["counts", (site, _id, now) => site.counts(now)],
	["a list", (site, _id, now) => site.list({ now })],
	["a claim", (site, _id, now) => site.take({ worker: "w2", now })],
	["a report of the worker", (site, id, now) => site.report(id, { now })],
	["a ping that names it", (site, id, now) => site.ping([id], { now })],
	["the sweep", (site, _id, now) => site.settle(now)],
	["a submission", (site, _id, now) => site.add({ now })],
];

describe("D16: after an outage longer than the lease", () => {
	it.each(FIRST)("nothing is taken back, whichever call is first: %s", async (_, first) => {
		const { clock, link, emitted, site } = await sample();
		const { id } = await site.running();
		link.fault = UNREACHABLE;
		await expect(site.counts()).rejects.toThrow("stopped");
		await clock.advance(1.5 * LEASE);
		link.fault = undefined;
		await first(site, id, clock.now());
		expect(["IN_PROGRESS", "COMPLETED"]).toContain(await site.state(id, clock.now()));
		expect((await site.counts(clock.now())).retried).toBe(0);
		expect(await site.attempts(id)).toEqual([]);
		expect(emitted).toEqual(["store.away", "store.back"]);
	});

	it.each(FIRST)("the same when the service itself did not run: %s", async (_, first) => {
		const { clock, emitted, site, suspend } = await sample();
		const { id } = await site.running();
		await clock.advance(1.5 * LEASE);
		suspend();
		await first(site, id, clock.now());
		expect(["IN_PROGRESS", "COMPLETED"]).toContain(await site.state(id, clock.now()));
		expect(emitted).toEqual([]);
	});

	it("what was called before the length of the pause is known happens at the present", async () => {
		const { clock, site, suspend } = await sample();
		const { id: running } = await site.running();
		const before = clock.now();
		await clock.advance(1.5 * LEASE);
		suspend(1.5 * LEASE);
		const { id } = await site.add({ now: before });
		expect((await site.get(id, clock.now()))?.job.submittedAt).toBe(clock.now());
		expect(await site.state(running, clock.now())).toBe("IN_PROGRESS");
	});

	it("no call is needed: the end is noticed, reported, and waiters are woken", async () => {
		const { clock, link, emitted, site, health } = await sample();
		health.service.start();
		ends.push(async () => {
			const stopped = health.service.stop();
			await clock.advance(60_000);
			await stopped;
		});
		link.fault = UNREACHABLE;
		await expect(site.counts()).rejects.toThrow("stopped");
		let woken = false;
		void health.waitUntilBack(1e9).then(() => (woken = true));
		await clock.advance(10_000);
		expect([woken, emitted]).toEqual([false, ["store.away"]]);
		link.fault = undefined;
		for (let ms = 0; !woken; ms += 100) await clock.advance(100);
		expect(emitted).toEqual(["store.away", "store.back"]);
	});
});

describe("D40: with a full disk", () => {
	it("reads go on, writes are refused at once, and leases are extended when there is room again", async () => {
		const { link, asked, site, health } = await sample();
		const { id } = await site.running();
		expect(health.isAvailable).toBe(true);
		link.fault = new StoreUnavailable("full", "disk full");
		await expect(site.add()).rejects.toThrow("disk full");
		link.fault = undefined;
		asked.length = 0;
		await site.get(id);
		expect(asked).toEqual(["jobs.get"]);
		expect(health.isAvailable, "for writes").toBe(false);
		await site.add();
		expect(health.isAvailable).toBe(true);
		expect(asked).toEqual(["jobs.get", "ping", "jobs.extendAll", "jobs.insert"]);
	});
});

describe("no outage", () => {
	it.each([["busy"], ["closed"]] as const)("a store that is %s", async (why) => {
		const { link, asked, emitted, site } = await sample();
		link.fault = new StoreUnavailable(why, why);
		await expect(site.add()).rejects.toThrow(why);
		link.fault = undefined;
		asked.length = 0;
		await site.add();
		expect([asked, emitted]).toEqual([["jobs.insert"], []]);
	});

	it("the bus of the engine leaves out faults that only say that the store is unavailable", async () => {
		const { emitted, health } = await sample();
		health.events.emit("fault", { where: "sweep", error: UNREACHABLE });
		health.events.emit("fault", { where: "sweep", error: new Error("a mistake") });
		expect(emitted).toEqual(["fault"]);
	});
});
