/** The time for everything that is stored: the database's where several servers share one. */
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import type { Service } from "../../service.ts";
import { clockOffset } from "./clock-offset.ts";

export interface JobClock {
	/** Reading it changes nothing. */
	now(): EpochMs;
	/** Records the time, so that a step of this machine's clock is noticed. */
	observe(): void;
	/** Must be done before the first `now`. Throws when the time cannot be known. */
	prepare(): Promise<void>;
	/** Why the time is unreliable, as the end of a sentence; undefined when it is reliable. */
	fault(): string | undefined;
	services: readonly Service[];
}

export function jobClock({
	clock,
	events,
	databaseClock,
}: {
	clock: Clock;
	events: EventBus;
	databaseClock?: (() => Promise<number>) | undefined;
}): JobClock {
	if (databaseClock) {
		const offset = clockOffset({ clock, databaseClock, events });
		return { ...offset, prepare: offset.measure, services: [offset.service] };
	}
	return {
		// One server alone: its machine's clock is the job clock.
		now: () => clock.now() as number,
		observe: () => {},
		prepare: async () => {},
		fault: () => undefined,
		services: [],
	};
}
