/** Who listens to all endpoints: one read for all listeners, none without a listener, nothing twice. */
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../kernel/events.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { Principal } from "../../kernel/engine/access/keys.ts";
import { type Listener, liveFeed } from "./live-feed.ts";
import type { EndpointSnapshot } from "../../kernel/engine/metrics/health.ts";
import { readEndpoint } from "../../kernel/launchers/endpoint-settings.ts";

const read = readEndpoint("ep", {});
if (!read.ok) throw new Error("The settings are good.");
const { endpoint } = read;

/** All endpoints as the test has them, and who reads them. */
function bed() {
	const clock = manualClock();
	const events = eventBus();
	const place = {
		clock,
		looks: 0,
		waiting: 0,
		fault: undefined as Error | undefined,
		present: async (): Promise<EndpointSnapshot[]> => {
			place.looks += 1;
			if (place.fault) throw place.fault;
			return [
				{
					endpoint,
					paused: false,
					createdAt: 0,
					jobs: { inQueue: place.waiting, inProgress: 0, completed: 0, failed: 0, retried: 0 },
					workers: { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 },
					asleep: 0,
					health: { state: "healthy" },
				},
			];
		},
	};
	const principal: Principal = { keyId: "k", name: "k", scopes: ["read"] };
	const feedOfAll = liveFeed(
		given({
			clock,
			events,
			calendar: { now: clock.now, of: (at) => at as number, jobTime: (at) => at as number },
			snapshots: place.present,
			window: {
				load: async () => {},
				of: () => ({ perMinute: { completed: 0, failed: 0, timedOut: 0, cancelled: 0 }, spark: [] }),
			},
		}),
	);
	feedOfAll.service.start();
	/** A listener that notes what it hears. */
	function listener(given: Partial<Listener> = {}): {
		heard: (string | undefined)[];
		isOver: () => boolean;
		leave: () => void;
	} {
		const heard: (string | undefined)[] = [];
		let over = false;
		const leave = feedOfAll.listen({
			principal: async () => principal,
			intervalMs: 2000,
			send: (text) => heard.push(text) > 0,
			closed: () => void (over = true),
			...given,
		});
		return { heard, isOver: () => over, leave };
	}
	return { place, feedOfAll, listener };
}

it("no server listens, none is read; many listen, one is read", async () => {
	const { place, feedOfAll, listener } = bed();
	await place.clock.advance(60_000);
	expect(place.looks).toBe(0);
	const all = [1, 2, 3].map(() => listener());
	await place.clock.advance(0);
	expect(place.looks).toBe(1);
	await place.clock.advance(2000);
	expect([place.looks, ...all.map(({ heard }) => heard.length)]).toEqual([2, 1, 1, 1]);
	place.waiting = 7;
	await place.clock.advance(2000);
	expect(all.map(({ heard }) => JSON.parse(heard[1]!).endpoints[0].queue.inQueue)).toEqual([7, 7, 7]);
	for (const { leave } of all) leave();
	const { looks } = place;
	await place.clock.advance(60_000);
	expect(place.looks).toBe(looks);
	await feedOfAll.service.stop();
});

it("who cannot take more now gets the newest when he can", async () => {
	const { place, feedOfAll, listener } = bed();
	let clogged = false;
	const heard: (string | undefined)[] = [];
	listener({ send: (text) => !clogged && heard.push(text) > 0 });
	await place.clock.advance(0);
	clogged = true;
	place.waiting = 1;
	await place.clock.advance(6000);
	place.waiting = 2;
	clogged = false;
	await place.clock.advance(2000);
	expect(heard.map((text) => JSON.parse(text!).endpoints[0].queue.inQueue)).toEqual([0, 2]);
	await feedOfAll.service.stop();
});

it("while the store is unavailable no listener gets anything, and all get of it when it is back", async () => {
	const { place, feedOfAll, listener } = bed();
	place.fault = new StoreUnavailable("unreachable", "stopped");
	const { heard, isOver } = listener();
	await place.clock.advance(5000);
	expect([heard.length, isOver()]).toEqual([0, false]);
	place.fault = undefined;
	await place.clock.advance(1000);
	expect(heard).toHaveLength(1);
	await feedOfAll.service.stop();
});

it("a key that has ended hears no more; a close ends all, also who comes later", async () => {
	const { place, feedOfAll, listener } = bed();
	const [revoked, good] = [listener({ principal: async () => undefined }), listener()];
	await place.clock.advance(0);
	expect([revoked.isOver(), revoked.heard, good.isOver()]).toEqual([true, [], false]);
	feedOfAll.close();
	expect([good.isOver(), listener().isOver()]).toEqual([true, true]);
	await feedOfAll.service.stop();
});
