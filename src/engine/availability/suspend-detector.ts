/** Notices that the service did not run for a while: stopped, or the machine was suspended. */
import type { Clock } from "../../clock.ts";
import type { EpochMs, LocalMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import { loop, type Service } from "../../service.ts";
import { type JobClock, SUSPEND_MS } from "./job-clock.ts";

/** Time between two checks when no operation needs one, ms. */
const CHECK_MS = 250;

/** Checks closer to each other are one check, ms. */
const RESOLUTION_MS = 1;

export interface SuspendDetector {
	/** Whether there was a gap since the last call of this. */
	takeGap(): boolean;
	service: Service;
}

export function suspendDetector({
	clock,
	jobClock,
	events,
}: {
	clock: Clock;
	jobClock: Pick<JobClock, "now" | "observe">;
	events: EventBus;
}): SuspendDetector {
	let last: EpochMs | undefined;
	let lastLocal: LocalMs | undefined;
	let gapFound = false;

	function check(): void {
		const local = clock.now();
		// Every store call checks: most are within the same moment.
		if (lastLocal !== undefined && Math.abs(local - lastLocal) < RESOLUTION_MS) return;
		const asleep = jobClock.observe();
		const now = jobClock.now();
		const gap = Math.max(now - (last ?? now), local - (lastLocal ?? local) + asleep);
		last = now;
		lastLocal = local;
		if (gap <= SUSPEND_MS) return;
		gapFound = true;
		events.emit("service.away", { ms: gap });
	}

	return {
		takeGap() {
			check();
			const found = gapFound;
			gapFound = false;
			return found;
		},
		service: loop({
			clock,
			retryMs: CHECK_MS,
			onError: (error) => events.emit("fault", { where: "checking the clock", error }),
			step: async () => {
				check();
				return CHECK_MS;
			},
		}),
	};
}
