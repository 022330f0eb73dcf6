/**
 * A server among others on a real PostgreSQL, on a clock that is turned by hand: when it leads, and
 * when it knows that it does not.
 */
import { setImmediate } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { manualClock, type ManualClock } from "../../../../test/support/manual-clock.ts";
import { postgres } from "../../../../test/support/postgres.ts";
import { systemClock } from "../../system/clock.ts";
import { eventBus } from "../../events.ts";
import { openPostgres } from "../../store/postgres/open.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import { type Store, StoreUnavailable } from "../../store/contract/store.ts";
import { untilTrue } from "../../../../test/support/until.ts";
import { type Cluster, createCluster } from "./cluster.ts";

let store: Store;
let clock: ManualClock;
let running: Member[] = [];
let groups = 0;

beforeAll(async () => {
	const { url } = await (await postgres()).createDatabase();
	store = await openPostgres({ url, clock: systemClock });
});
afterAll(() => store?.close());
beforeEach(() => {
	groups += 1;
	clock = manualClock(1_800_000_000_000 + groups * 100_000);
});
afterEach(async () => {
	for (const member of running.splice(0)) await member.leave();
});

interface Member extends Cluster {
	id: string;
	/** The store cannot be reached by it. */
	cutOff(isCutOff: boolean): void;
	/** It gives no signs of life, as if killed. */
	kill(): Promise<void>;
	emitted: string[];
}

/** Calls of members that the database has not answered yet. */
const calls = new Set<Promise<unknown>>();

/** Until all are answered, and those that followed them: answers take real time, while the clock stands. */
async function settled(): Promise<void> {
	do {
		await Promise.allSettled(calls);
		await setImmediate();
	} while (calls.size > 0);
}

/** Moves time in small steps, and lets the database answer in each. */
async function pass(ms: number): Promise<void> {
	for (let left = ms; left > 0; left -= 250) {
		await clock.advance(Math.min(250, left));
		await settled();
	}
}

/** A server that has joined. */
async function member(name: string, { endpoints = [] as string[], run = "1" } = {}): Promise<Member> {
	let isCutOff = false;
	const watched = new Proxy(store.cluster!, {
		get: (target, method: keyof ClusterStore) => (q: never) => {
			if (isCutOff) return Promise.reject(new StoreUnavailable("unreachable", "cut off"));
			const call = (target[method] as (q: never) => Promise<unknown>)(q).finally(() => calls.delete(call));
			calls.add(call);
			return call;
		},
	});
	const events = eventBus();
	const emitted: string[] = [];
	events.on("lease.taken", ({ name: lease }) => emitted.push(`+${lease}`));
	events.on("lease.lost", ({ name: lease }) => emitted.push(`-${lease}`));
	events.on("server.joined", ({ server }) => emitted.push(`+${server}`));
	events.on("server.left", ({ server }) => emitted.push(`-${server}`));
	const id = `${name}-${groups}`;
	const made = createCluster(
		given({
			clock,
			now: clock.now,
			events,
			store: { ...store, cluster: watched },
			id,
			run,
			clockFault: () => undefined,
		}),
	);
	await made.join({
		url: `http://${name}`,
		note: () => `"${name}"`,
		managedEndpoints: () => endpoints,
		movable: () => "busy",
	});
	for (const each of made.services) each.start();
	await settled();
	const result: Member = {
		...made,
		id,
		emitted,
		cutOff: (now) => void (isCutOff = now),
		async kill() {
			for (const each of made.services) await each.stop();
		},
	};
	running.push(result);
	return result;
}

describe("D28, D34: one server and another", () => {
	it("the first leads everything; a second one gets nothing that is busy, and both know each other", async () => {
		const a = await member("a", { endpoints: ["e"] });
		expect(a.emitted).toEqual(["+sweep", "+removal", "+deliveries", "+scale:e"]);
		const b = await member("b", { endpoints: ["e"] });
		await pass(2000);
		expect([a.leads("sweep"), a.scales("e"), b.leads("sweep"), b.scales("e")]).toEqual([true, true, false, false]);
		expect(b.scalesElsewhere("e")).toBe(true);
		expect([a, b].map((each) => each.servers().map(({ id, url, note }) => ({ id, url, note })))).toEqual(
			[1, 2].map(() => [
				{ id: a.id, url: "http://a", note: '"a"' },
				{ id: b.id, url: "http://b", note: '"b"' },
			]),
		);
	});

	it("roles of a killed server are taken 7 s after its last sign of life, and not before", async () => {
		const a = await member("a", { endpoints: ["e"] });
		const b = await member("b", { endpoints: ["e"] });
		await pass(8000);
		await a.kill();
		await pass(4500);
		expect(b.emitted).toEqual([`+${a.id}`]);
		await pass(3000);
		await untilTrue(() => b.scales("e"));
		expect(b.emitted.slice(1)).toEqual([`-${a.id}`, "+sweep", "+removal", "+deliveries", "+scale:e"]);
		expect([b.leads("sweep"), b.scales("e"), b.scalesElsewhere("e")]).toEqual([true, true, false]);
	});

	it("one that leaves is followed at its next read", async () => {
		const a = await member("a");
		const b = await member("b");
		await a.leave();
		b.nudge();
		await untilTrue(() => b.leads("sweep"));
		expect(a.leads("sweep")).toBe(false);
	});
});

describe("D16: a store that is unavailable says nothing about others", () => {
	it("without a sign of life for 7 s it leads no more, but its workers need not go", async () => {
		const a = await member("a", { endpoints: ["e"] });
		a.cutOff(true);
		await pass(6750);
		expect([a.leads("sweep"), a.scales("e")]).toEqual([true, true]);
		await pass(500);
		expect([a.leads("sweep"), a.scales("e"), a.scalesElsewhere("e")]).toEqual([false, false, false]);
		a.cutOff(false);
		await pass(1500);
		expect([a.leads("sweep"), a.scales("e")]).toEqual([true, true]);
		expect(a.emitted).toEqual(["+sweep", "+removal", "+deliveries", "+scale:e"]);
	});

	it("all were cut off together: none takes what is another's, each goes on", async () => {
		const a = await member("a", { endpoints: ["e"] });
		const b = await member("b", { endpoints: ["e"] });
		await pass(8000);
		for (const each of [a, b]) each.cutOff(true);
		await pass(20_000);
		b.cutOff(false);
		await pass(5000);
		a.cutOff(false);
		await pass(5000);
		expect([a.scales("e"), b.scales("e")]).toEqual([true, false]);
		expect(a.emitted.filter((what) => what.includes("scale"))).toEqual(["+scale:e"]);
	});

	it("only one was cut off: the other takes over, and the first knows it when it is back", async () => {
		const a = await member("a", { endpoints: ["e"] });
		const b = await member("b", { endpoints: ["e"] });
		await pass(8000);
		a.cutOff(true);
		await pass(9000);
		expect([a.scales("e"), a.scalesElsewhere("e"), b.scales("e")]).toEqual([false, false, true]);
		a.cutOff(false);
		await pass(2000);
		expect([a.scales("e"), a.scalesElsewhere("e")]).toEqual([false, true]);
		expect(a.emitted).toContain("-scale:e");
	});
});

describe("two processes under one identity", () => {
	it("the later one has it, with what the earlier one led; the earlier one must take no requests", async () => {
		const early = await member("twin", { run: "early", endpoints: ["e"] });
		const late = await member("twin", { run: "late", endpoints: ["e"] });
		await pass(2500);
		expect([late.scales("e"), late.leads("sweep"), late.fault()]).toEqual([true, true, undefined]);
		expect([early.scales("e"), early.leads("sweep"), early.scalesElsewhere("e")]).toEqual([false, false, false]);
		expect(early.fault()).toMatch(/same data directory/);
	});
});

describe("alone", () => {
	it("a store that only one server can open: it leads everything, and nothing is asked", () => {
		const alone = createCluster(
			given({
				clock,
				now: clock.now,
				events: eventBus(),
				store: {},
				id: "x",
				run: "1",
				clockFault: () => undefined,
			}),
		);
		expect([
			alone.shared,
			alone.id,
			alone.leads("sweep"),
			alone.scales("e"),
			alone.scalesElsewhere("e"),
			alone.fault(),
			alone.services,
		]).toEqual([false, undefined, true, true, false, undefined, []]);
	});
});
