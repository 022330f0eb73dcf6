/** Polls of workers that begin while the service stops or a worker is sent home (D34). */
import { expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { eventBus } from "../../../events.ts";
import { take } from "./take.ts";
import { workerRegistry } from "../../workers/worker-registry.ts";
import { closeWorker } from "../../workers/worker-transitions.ts";

it("D34: a poll that still reads its worker's jobs when polls are ended is answered without jobs", async () => {
	const clock = manualClock();
	const events = eventBus();
	const worker = workerRegistry(events).meet({
		id: "w",
		endpoint: "e",
		ready: true,
		now: clock.now(),
	});
	const store = Promise.withResolvers<{ lost: []; over: []; kept: []; keptOpen: [] }>();
	const signal = new AbortController().signal;
	// Of the rest only these are reached: a poll that went on to the queue would fail of it.
	const deps = {
		clock,
		now: clock.now,
		events,
		dispatch: { closed: false },
		endpoints: { get: () => ({ leaseMs: 20_000 }) },
		workers: { allViews: { pings: () => true } },
		retry: () => store.promise,
	} as unknown as Parameters<typeof take>[0];
	const poll = take(deps, { worker, limit: 1, idle: true, signal });
	closeWorker(worker);
	store.resolve({ lost: [], over: [], kept: [], keptOpen: [] });
	expect(await poll).toEqual([]);
	expect(worker.takes).toBe(0);
});
