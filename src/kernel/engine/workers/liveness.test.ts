/** Signs that the main process of a worker has died although it is pinged for (D16). */
import { expect, it } from "vitest";
import { eventBus } from "../../events.ts";
import { isMainProcessDead, pollBegun } from "./liveness.ts";
import { workerRegistry } from "./worker-registry.ts";

it("D16: a time in which neither polls nor pings arrived is no sign", () => {
	let now = 0;
	const registry = workerRegistry(eventBus());
	const worker = registry.meet({ id: "w", endpoint: "e", ready: true, now });
	worker.longestPollMs = 1000;
	pollBegun(worker, () => now)(true);
	const ping = (at: number): boolean => isMainProcessDead(worker, { now: (now = at), pingIntervalMs: 1000 });
	// The first ping after three intervals: its next poll may be on the way.
	expect(ping(3000)).toBe(false);
	pollBegun(worker, () => now)(true);
	expect([4000, 5000].map(ping)).toEqual([false, true]);
});
