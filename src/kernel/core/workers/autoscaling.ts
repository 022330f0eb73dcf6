/** How many workers an endpoint should have (D20, D27, D28, D57). */

import type { Endpoint } from "../endpoints/endpoint.ts";

/** Low-priority jobs count only in `busyLow` (D20). */
export interface Sample {
	waiting: number;
	/** 0 without a waiting job. */
	oldestWaitMs: number;
	inProgress: number;
	busy: number;
	/** Workers with low-priority jobs only: no capacity for others. */
	busyLow: number;
	idle: number;
	/** Idle for at most `scalerValue` s: about to take a waiting job. */
	idleFresh: number;
	starting: number;
	idleTooLong: number;
	/** Starting workers that their platform has not run for this time. */
	pendingTooLong: number;
	/** Still count for `workersMax`. */
	stopping: number;
	/** Infinity before the first start. */
	sinceStartMs: number;
}

/** Settings of the endpoint (D27). */
export type ScaleRule = Pick<Endpoint, "workersMin" | "workersMax" | "scalerType" | "scalerValue">;

/** `wanted`: workers that the endpoint should have whether or not jobs wait, as by its minimum (D57). */
export function leastWorkers({ workersMin, workersMax }: ScaleRule, wanted: number): number {
	return Math.max(workersMin, Math.min(wanted, workersMax));
}

/**
 * Does not count stopping workers. Busy ones are never stopped (D28): the maximum limits only starts and idle workers.
 */
export function desiredWorkers(sample: Sample, rule: ScaleRule): number {
	const present = sample.busy + sample.idle + sample.starting;
	const wanted = Math.max(demand(sample, rule, present), present - surplus(sample), rule.workersMin);
	const bounded = Math.max(Math.min(wanted, rule.workersMax), sample.busy);
	return bounded <= present ? bounded : Math.max(present, Math.min(bounded, rule.workersMax - sample.stopping));
}

function demand(sample: Sample, rule: ScaleRule, present: number): number {
	if (rule.scalerType === "REQUEST_COUNT")
		return sample.busyLow + Math.ceil((sample.waiting + sample.inProgress) / rule.scalerValue);
	if (sample.waiting === 0) return 0;
	if (present === 0) return 1;
	// One start per delay, and at most as many starting workers as waiting jobs: a slow start must not cause another. A
	// worker that stays idle may run old attempts and cannot take the jobs (D16 Fence).
	const delayMs = rule.scalerValue * 1000;
	const late =
		sample.oldestWaitMs > delayMs &&
		sample.sinceStartMs > delayMs &&
		sample.starting + sample.idleFresh < sample.waiting;
	return present + Number(late);
}

/** None while jobs wait; one idle worker stays for bursts while others are busy. */
function surplus({ waiting, busy, idle, idleTooLong, pendingTooLong }: Sample): number {
	if (waiting > 0) return 0;
	return pendingTooLong + Math.min(idleTooLong, busy > 0 ? Math.max(0, idle - 1) : idle);
}
