/**
 * Stop channels where several servers share the store (D18): the store is asked before anybody
 * waits.
 */
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import { stopSignals } from "./stop-signals.ts";
import { workerRegistry } from "./worker-registry.ts";

it("D18: a poll whose time is over while the store is asked ends", async () => {
	const clock = manualClock();
	const events = eventBus();
	const present = workerRegistry(events);
	const worker = present.meet({ id: "w", endpoint: "e", ready: true, now: clock.now() });
	const answer = Promise.withResolvers<[]>();
	const stops = stopSignals(
		given({
			clock,
			now: clock.now,
			events,
			registry: present,
			store: { jobs: { unstopped: () => answer.promise } },
			cluster: { shared: true },
		}),
	);
	const left = Promise.withResolvers<void>();
	const poll = stops.poll(worker, left.promise);
	left.resolve();
	await clock.advance(0);
	answer.resolve([]);
	expect(await poll).toEqual([]);
	expect(worker.wakeStops.size).toBe(0);
});
