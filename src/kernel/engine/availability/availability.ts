/** Outages of the store and of this server (D16, D40). */
import type { Clock } from "../../system/clock.ts";
import type { EventBus } from "../../events.ts";
import type { Store } from "../../store/contract/store.ts";
import { freeSpace, type StoreDisk } from "./storage/free-space.ts";
import { JobClock } from "./clock/job-clock.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import { StoreHealth } from "./store-health.ts";

export type Availability = ReturnType<typeof createAvailability>;

export function createAvailability(d: {
	clock: Clock;
	events: EventBus;
	store: Store;
	server?: string | undefined;
	pauseMs?: number | undefined;
	disk?: StoreDisk | undefined;
}) {
	const time = new JobClock(d);
	const health = new StoreHealth({ ...d, time });
	const space = freeSpace(d);
	return {
		store: health.store,
		isStoreAvailable: () => health.isAvailable,
		events: health.events,
		time,
		retry: retryWhileUnavailable({ ...d, waitUntilBack: (ms, signal) => health.waitUntilBack(ms, signal) }),
		space,
		services: [health.service, ...time.services, ...space.services],
	};
}
