/** Notices that the service did not run for a while: stopped, suspended, or its clock jumped. */
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Service } from "../../service.ts";
import { SUSPEND_MS } from "./clock-offset.ts";
import type { JobClock } from "./job-clock.ts";

/** Time between two checks when no operation needs one, ms. */
const CHECK_MS = 250;

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
	let gapFound = false;

	function check(): void {
		jobClock.observe();
		const now = jobClock.now();
		const gap = now - (last ?? now);
		last = now;
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
