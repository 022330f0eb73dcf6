/** How many workers an endpoint should have (D20, D27, D28). */

/** State of an endpoint. Jobs of low priority count only in `busyLow` (D20). */
export interface Sample {
	/** Waiting jobs. */
	waiting: number;
	/** Wait of the oldest of them; 0 without one. */
	oldestWaitMs: number;
	/** Running jobs. */
	inProgress: number;
	/** Workers with jobs of any priority. */
	busy: number;
	/** Workers with jobs of low priority only: no capacity for others. */
	busyLow: number;
	idle: number;
	/** Workers idle for at most `scalerValue` s: about to take a waiting job. */
	idleFresh: number;
	starting: number;
	/** Idle workers whose `idleTimeout` has passed. */
	idleTooLong: number;
	/** Stopping workers, which still count for `workersMax`. */
	stopping: number;
	/** Time since the last start of a worker; Infinity before the first. */
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
 * The number of workers, stopping ones excluded. Busy workers are never stopped (D28): the maximum
 * only limits starts, and idle workers.
 */
export function desiredWorkers(sample: Sample, rule: ScaleRule): number {
	const present = sample.busy + sample.idle + sample.starting;
	const wanted = Math.max(
		demand(sample, rule, present),
		present - surplus(sample),
		rule.workersMin,
	);
	const bounded = Math.max(Math.min(wanted, rule.workersMax), sample.busy);
	return bounded <= present
		? bounded
		: Math.max(present, Math.min(bounded, rule.workersMax - sample.stopping));
}

/** Workers that the jobs need. */
function demand(sample: Sample, rule: ScaleRule, present: number): number {
	if (rule.scalerType === "REQUEST_COUNT")
		return sample.busyLow + Math.ceil((sample.waiting + sample.inProgress) / rule.scalerValue);
	if (sample.waiting === 0) return 0;
	if (present === 0) return 1;
	// One start per delay, and no more starting workers than waiting jobs: a slow start must not cause
	// another. A worker that stays idle cannot take the jobs: it may run old attempts (D16 Fence).
	const delayMs = rule.scalerValue * 1000;
	const late =
		sample.oldestWaitMs > delayMs &&
		sample.sinceStartMs > delayMs &&
		sample.starting + sample.idleFresh < sample.waiting;
	return present + Number(late);
}

/** Idle workers to stop: none while jobs wait; while others are busy, one stays for bursts. */
function surplus({ waiting, busy, idle, idleTooLong }: Sample): number {
	if (waiting > 0) return 0;
	return Math.min(idleTooLong, busy > 0 ? Math.max(0, idle - 1) : idle);
}
