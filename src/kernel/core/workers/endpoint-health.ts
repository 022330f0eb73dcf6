/** Whether an endpoint's jobs get workers, in one word (D47). */
import type { WorkerReason } from "./worker-reason.ts";

/** What needs attention first comes first. `hindered`: it lacks workers that do not crash. */
export const HEALTH_STATES = ["crashing", "no_workers", "hindered", "paused", "healthy"] as const;

export interface EndpointHealth {
	state: (typeof HEALTH_STATES)[number];
	reason?: WorkerReason | undefined;
}

export function endpointHealth({
	paused,
	crashes,
	reason,
	canStart,
	present,
	inQueue,
}: {
	paused: boolean;
	crashes: boolean;
	reason: WorkerReason | undefined;
	canStart: boolean;
	present: number;
	inQueue: number;
}): EndpointHealth {
	if (crashes) return { state: "crashing", reason };
	if (paused) return { state: "paused" };
	if (!canStart && present === 0 && inQueue > 0) return { state: "no_workers" };
	return reason ? { state: "hindered", reason } : { state: "healthy" };
}
