/** How many workers of an earlier release make place for those of the current one (D50). */
import type { ReleaseSettings } from "../endpoints/endpoint.ts";

export interface Rollout {
	/** Workers of earlier releases that take jobs. */
	old: number;
	/** Workers of the current release that are not healthy yet. */
	pending: number;
	/** Workers of the current release that became healthy since the last step. */
	arrived: number;
	/** Earlier ones that left before a healthy one took their place. */
	ahead: number;
	/** So many of earlier releases must have left ahead before one can start; 0: there is room besides them. */
	makers: number;
}

export interface RolloutStep {
	/** So many workers of earlier releases get no more jobs. */
	retire: number;
	ahead: number;
	/** Workers of the current release to be started besides those that the jobs need. */
	start: number;
	/** So many of the pending ones count for no job: they are there to be judged. */
	extra: number;
}

/**
 * Each healthy worker of the current release takes the place of one of an earlier release. Until the first is healthy,
 * none of those leaves, unless nothing can be started beside them: then as many as one needs make place.
 */
export function rolloutStep(q: Rollout, rule: Pick<ReleaseSettings, "maxSurge">): RolloutStep {
	const surge = q.makers === 0 ? rule.maxSurge : 0;
	const unavailable = surge === 0 ? Math.max(1, q.makers) : 0;
	const before = q.ahead - q.arrived;
	const retire = Math.min(q.old, Math.max(0, unavailable - before));
	const ahead = Math.max(0, before + retire);
	const wanted = Math.min(surge, q.old - retire) + ahead;
	return {
		retire,
		ahead,
		start: Math.max(0, wanted - q.pending),
		extra: Math.min(Math.max(0, q.pending - ahead), surge),
	};
}
