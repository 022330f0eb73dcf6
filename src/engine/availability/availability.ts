/** Outages of the store and of this server: what the rest of the engine is built on (D16, D40). */
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import type { Service } from "../../service.ts";
import type { Store } from "../../store/contract/store.ts";
import { backups, type Backups } from "./backups.ts";
import { freeSpace, type FreeSpace, type StoreDisk } from "./free-space.ts";
import { type Calendar, JobClock } from "./job-clock.ts";
import { retryWhileUnavailable, type RetryWhileUnavailable } from "./retry-while-unavailable.ts";
import { storeHealth, type StoreHealth } from "./store-health.ts";

export interface Availability extends Pick<StoreHealth, "store" | "events"> {
	/** The job clock. */
	now(): EpochMs;
	calendar: Calendar;
	retry: RetryWhileUnavailable;
	space: FreeSpace;
	backups: Backups;
	/** Must be done before the first `now`. Throws when the time cannot be known. */
	prepare(): Promise<void>;
	/** Why the time is unreliable, as the end of a sentence; undefined when it is reliable. */
	clockFault(): string | undefined;
	services: readonly Service[];
}

export function createAvailability(d: {
	clock: Clock;
	events: EventBus;
	store: Store;
	/** Identity of this server where several share the store. */
	server?: string | undefined;
	/** A longer gap between two readings of the clock is left out of the job clock, ms. */
	pauseMs?: number | undefined;
	/** Absent where it is on another machine. */
	disk?: StoreDisk | undefined;
}): Availability {
	const time = new JobClock(d);
	const health = storeHealth({
		...d,
		now: () => time.now(),
		settled: () => time.settled(),
		takeGap: () => time.takeGap(),
		release: d.disk?.ballast?.release,
	});
	const space = freeSpace(d);
	const copies = backups({ ...d, disk: d.disk, backup: d.store.backup });
	return {
		store: health.store,
		events: health.events,
		now: () => time.now(),
		calendar: time.calendar,
		retry: retryWhileUnavailable({ ...d, waitUntilBack: health.waitUntilBack }),
		space,
		backups: copies,
		prepare: () => time.prepare(),
		clockFault: () => time.fault(),
		services: [health.service, ...time.services, ...space.services, copies.service],
	};
}
