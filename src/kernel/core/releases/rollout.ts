/** Decides how many workers of earlier releases stop for those of the current one (D50). */
import type { ReleaseSettings } from "../endpoints/endpoint.ts";

export interface Rollout {
	/** Workers of earlier releases that take jobs. */
	old: number;
	/** Workers of the current release that are not healthy yet. */
	pending: number;
	/** Workers of the current release that became healthy since the last step. */
	arrived: number;
	/** Workers of earlier releases that stopped before a healthy one replaced them. */
	ahead: number;
	/**
	 * Number of workers of earlier releases that must have stopped before a new one can start; 0: there is room for an
	 * additional one.
	 */
	makers: number;
}

export interface RolloutStep {
	/** Number of workers of earlier releases that get no more jobs. */
	retire: number;
	ahead: number;
	/** Workers of the current release to be started in addition to those that the jobs need. */
	start: number;
	/** Number of the pending workers that count for no job: they are started to prove the release. */
	extra: number;
}

/**
 * Each healthy worker of the current release replaces one of an earlier release. Until the first is healthy, none of
 * the old ones stops, unless no additional worker can start: then as many stop as one new worker needs.
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
