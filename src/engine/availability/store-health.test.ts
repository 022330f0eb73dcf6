/**
 * The gate before the store, over a real SQLite store whose calls fail when the test says so:
 * leases are extended before anything happens to jobs (D16 Outages).
 */
import { afterEach, describe, expect, it } from "vitest";
import { folder } from "../../../test/support/service.ts";
import { LEASE, siteOf, T0 } from "../../../test/store/site.ts";
import type { Site } from "../../../test/store/site.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import type { EventName } from "../../events.ts";
import { openSqlite } from "../../store/sqlite/open.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Store } from "../../store/contract/store.ts";
import { storeHealth } from "./store-health.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).toReversed()) await end();
});

/** A store that can be away. */
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
				return link.fault
					? Promise.reject(link.fault)
					: (value as (...all: unknown[]) => unknown)(...q);
			};
		}
		if (typeof value !== "object" || value === null) return value;
		return Object.fromEntries(
			Object.entries(value).map(([name, inner]) => [
				name,
				failing(inner, path === "" ? name : `${path}.${name}`),
			]),
		);
	};
	const clock = manualClock(T0);
	const events = eventBus();
	const told: EventName[] = [];
	events.onAny((name) => told.push(name));
	let gap = false;
	const away = storeHealth({
		clock,
		now: clock.now,
		takeGap: () => gap && !(gap = false),
		store: failing(real, "") as Store,
		events,
	});
	const suspend = (): void => void (gap = true);
	return { clock, link, asked, told, away, suspend, site: siteOf(away.store) };
}

const UNREACHABLE = new StoreUnavailable("unreachable", "away");

/**
 * Each is the first that anybody asks after an outage in which the lease of a running job ended.
 */
const FIRST: [string, (site: Site, id: string, now: number) => Promise<unknown>][] = [
	["a look", (site, id, now) => site.get(id, now)],
	["counts", (site, _id, now) => site.counts(now)],
	["a list", (site, _id, now) => site.list({ now })],
	["a claim", (site, _id, now) => site.take({ worker: "w2", now })],
	["a report of the worker", (site, id, now) => site.report(id, { now })],
	["a ping that names it", (site, id, now) => site.ping([id], { now })],
	["the sweep", (site, _id, now) => site.settle(now)],
	["a submission", (site, _id, now) => site.add({ now })],
];

describe("D16: after an outage longer than the lease", () => {
	it.each(FIRST)("nothing is taken back, whoever comes first: %s", async (_, first) => {
		const { clock, link, told, site } = await sample();
		const { id } = await site.running();
		link.fault = UNREACHABLE;
		await expect(site.counts()).rejects.toThrow("away");
		await clock.advance(1.5 * LEASE);
		link.fault = undefined;
		await first(site, id, clock.now());
		expect(["IN_PROGRESS", "COMPLETED"]).toContain(await site.state(id, clock.now()));
		expect((await site.counts(clock.now())).retried).toBe(0);
		expect(await site.attempts(id)).toEqual([]);
		expect(told).toEqual(["store.away", "store.back"]);
	});

	it.each(FIRST)("the same when the service itself did not run: %s", async (_, first) => {
		const { clock, told, site, suspend } = await sample();
		const { id } = await site.running();
		await clock.advance(1.5 * LEASE);
		suspend();
		await first(site, id, clock.now());
		expect(["IN_PROGRESS", "COMPLETED"]).toContain(await site.state(id, clock.now()));
		expect(told).toEqual([]);
	});

	it("nobody needs to ask: the end is noticed, told, and whoever waits for it is woken", async () => {
		const { clock, link, told, site, away } = await sample();
		away.service.start();
		ends.push(async () => {
			const stopped = away.service.stop();
			await clock.advance(60_000);
			await stopped;
		});
		link.fault = UNREACHABLE;
		await expect(site.counts()).rejects.toThrow("away");
		let woken = false;
		void away.waitUntilBack(1e9).then(() => (woken = true));
		await clock.advance(10_000);
		expect([woken, told]).toEqual([false, ["store.away"]]);
		link.fault = undefined;
		for (let ms = 0; !woken; ms += 100) await clock.advance(100);
		expect(told).toEqual(["store.away", "store.back"]);
	});
});

describe("D40: with a full disk", () => {
	it("reads go on, writes are refused at once, and leases are extended when there is room again", async () => {
		const { link, asked, site } = await sample();
		const { id } = await site.running();
		link.fault = new StoreUnavailable("full", "disk full");
		await expect(site.add()).rejects.toThrow("disk full");
		link.fault = undefined;
		asked.length = 0;
		await site.get(id);
		expect(asked).toEqual(["jobs.get"]);
		await site.add();
		expect(asked).toEqual(["jobs.get", "ping", "jobs.extendAll", "jobs.insert"]);
	});
});

describe("no outage", () => {
	it.each([["busy"], ["closed"]] as const)("a store that is %s", async (why) => {
		const { link, asked, told, site } = await sample();
		link.fault = new StoreUnavailable(why, why);
		await expect(site.add()).rejects.toThrow(why);
		link.fault = undefined;
		asked.length = 0;
		await site.add();
		expect([asked, told]).toEqual([["jobs.insert"], []]);
	});

	it("the bus of the engine leaves out faults that only say that the store is away", async () => {
		const { told, away } = await sample();
		away.events.emit("fault", { where: "sweep", error: UNREACHABLE });
		away.events.emit("fault", { where: "sweep", error: new Error("a mistake") });
		expect(told).toEqual(["fault"]);
	});
});
