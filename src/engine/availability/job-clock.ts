/** The engine's sense of time: the present, and whether the service was away (D16 Outages). */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import { clockOffset } from "../cluster/clock-offset.ts";

/** How often the present is looked at when nothing else asks, ms. */
const HEARTBEAT_MS = 250;

/**
 * A gap between two looks that means the service did not run: stopped, suspended, or the clock
 * jumped, ms. Below what the shortest lease lasts beyond the ping that should renew it (2000 -
 * 1000): a pause that keeps such a ping from us for longer than that is noticed.
 */
const AWAY_MS = 900;

/** The present for every operation, in ms since the epoch. */
export interface JobClock {
	/**
	 * The present. After a gap every lease is extended ahead of whatever the caller asks of the store
	 * next (`outages.ts`): live work must not run twice because we were away.
	 */
	now(): number;
	/** Looks at the present, and measures the clock where that is needed. */
	loops: Loop[];
	/** To be called before the first `now`. Throws where the present cannot be known. */
	begin(): Promise<void>;
	/** Why the present is not to be relied on, as the end of a sentence; undefined when it is. */
	fault(): string | undefined;
}

/** The engine's time over a clock; by that of the database where several servers share one. */
export function jobClock({
	clock,
	events,
	missed,
	databaseClock,
}: {
	clock: Clock;
	events: EventBus /** Called after a gap. */;
	missed: () => void;
	databaseClock?: (() => Promise<number>) | undefined;
}): JobClock {
	const offset = databaseClock && clockOffset({ clock, databaseClock, awayMs: AWAY_MS, events });
	let last = clock.now();
	function now(): number {
		const present = offset ? offset.now(last) : clock.now();
		const gap = present - last;
		last = present;
		if (gap > AWAY_MS) {
			events.emit("service.away", { ms: gap });
			missed();
		}
		return present;
	}
	const heartbeat = loop({
		clock,
		retryMs: HEARTBEAT_MS,
		onError: (error) => events.emit("fault", { where: "heartbeat", error }),
		step: async () => {
			now();
			return HEARTBEAT_MS;
		},
	});
	return {
		now,
		loops: offset ? [heartbeat, offset.loop] : [heartbeat],
		async begin() {
			if (!offset) return;
			await offset.measure();
			last = offset.now(-Infinity);
		},
		fault: () => offset?.fault(),
	};
}
