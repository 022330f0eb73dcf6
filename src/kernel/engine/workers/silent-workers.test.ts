/** Launched workers are killed for a silence that the service has listened to (D16). */
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { eventBus } from "../../events.ts";
import { backgroundTasks } from "../../system/loop.ts";
import { silentWorkers } from "./silent-workers.ts";
import { workerRegistry } from "./worker-registry.ts";

const LEASE_MS = 2000;
const CHECK_MS = 500;

it("D16: a time in which the service did not run is no silence of its workers", () => {
	const events = eventBus();
	const registry = workerRegistry(events);
	let now = 0;
	const stopped: string[] = [];
	const check = silentWorkers(
		given({
			now: () => now,
			events,
			background: backgroundTasks(() => {}),
			registry,
			launcher: { isStopping: () => false, stop: async (_, { why }) => void stopped.push(why) },
			endpoints: { has: () => true, get: () => ({ leaseMs: LEASE_MS }) as never },
			checkMs: CHECK_MS,
		}),
	);
	registry.meet({ id: "w", endpoint: "e", launcher: "process", ready: true, pinged: true, now });
	const passes = (ms: number): void => {
		for (const until = now + ms; now < until; ) {
			now += CHECK_MS;
			check();
		}
	};
	check();
	passes(1000);
	now += 2 * LEASE_MS;
	check();
	expect(stopped).toEqual([]);
	passes(2 * LEASE_MS - CHECK_MS);
	expect(stopped).toEqual([]);
	passes(CHECK_MS);
	expect(stopped).toEqual(["it did not answer for 4 s; it is killed"]);
});
