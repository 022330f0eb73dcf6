/** How many workers an endpoint should have (D20, D27, D28). */

/** State of an endpoint. Low-priority jobs count only in `busyLow` (D20). */
export interface Sample {
	waiting: number;
	/** 0 without a waiting job. */
	oldestWaitMs: number;
	inProgress: number;
	/** Workers with jobs of any priority. */
	busy: number;
	/** Workers with low-priority jobs only: no capacity for others. */
	busyLow: number;
	idle: number;
	/** Workers idle for at most `scalerValue` s: about to take a waiting job. */
	idleFresh: number;
	starting: number;
	/** Idle workers past their `idleTimeout`. */
	idleTooLong: number;
	/** Starting workers that their platform has not run for so long. */
	pendingTooLong: number;
	/** Still count for `workersMax`. */
	stopping: number;
	/** Time since the last worker start; Infinity before the first. */
	sinceStartMs: number;
}

/** Settings of the endpoint (D27). */
export interface ScaleRule {
	workersMin: number;
	workersMax: number;
	scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
	/** Seconds with QUEUE_DELAY, jobs per worker with REQUEST_COUNT. */
	scalerValue: number;
}

/**
 * Number of workers without stopping ones. Busy workers are never stopped (D28): the maximum limits
 * only starts and idle workers.
 */
export function desiredWorkers(sample: Sample, rule: ScaleRule): number {
	const present = sample.busy + sample.idle + sample.starting;
	const wanted = Math.max(demand(sample, rule, present), present - surplus(sample), rule.workersMin);
	const bounded = Math.max(Math.min(wanted, rule.workersMax), sample.busy);
	return bounded <= present ? bounded : Math.max(present, Math.min(bounded, rule.workersMax - sample.stopping));
}

/** Workers that the jobs need. */
function demand(sample: Sample, rule: ScaleRule, present: number): number {
	if (rule.scalerType === "REQUEST_COUNT")
		return sample.busyLow + Math.ceil((sample.waiting + sample.inProgress) / rule.scalerValue);
	if (sample.waiting === 0) return 0;
	if (present === 0) return 1;
	// One start per delay, and at most as many starting workers as waiting jobs: a slow start must
	// not cause another. A worker that stays idle may run old attempts and cannot take the jobs (D16
	// Fence).
	const delayMs = rule.scalerValue * 1000;
	const late =
		sample.oldestWaitMs > delayMs &&
		sample.sinceStartMs > delayMs &&
		sample.starting + sample.idleFresh < sample.waiting;
	return present + Number(late);
}

/** Workers to stop: none while jobs wait; one idle one stays for bursts while others are busy. */
function surplus({ waiting, busy, idle, idleTooLong, pendingTooLong }: Sample): number {
	if (waiting > 0) return 0;
	return pendingTooLong + Math.min(idleTooLong, busy > 0 ? Math.max(0, idle - 1) : idle);
}
