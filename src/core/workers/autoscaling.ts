/**
 * How many workers an endpoint should have, from one look at it (D20, D27, D28). Pure: sampling and
 * acting are in `engine/scale.ts`.
 */

/** What was seen. Jobs of low priority count nowhere but in `busyLow` (D20). Times in ms. */
export interface Sample {
	/** Jobs that wait. */
	waiting: number;
	/** How long the oldest of them has waited; 0 without one. */
	oldestWaitMs: number;
	/** Jobs in workers' hands. */
	inProgress: number;
	/** Workers with a job, those with jobs of low priority alone included. */
	busy: number;
	/** Workers with jobs of low priority alone: no help for the others. */
	busyLow: number;
	idle: number;
	/** Idle workers that have been so for at most `scalerValue` s: about to take what waits. */
	idleFresh: number;
	starting: number;
	/** Idle workers whose `idleTimeout` has passed. */
	idleTooLong: number;
	/** Workers on their way out, which still take a place. */
	stopping: number;
	/** Since the last start of a worker; Infinity before the first. */
	sinceStartMs: number;
}

/** The settings that decide (D27). */
export interface ScaleRule {
	workersMin: number;
	workersMax: number;
	scalerType: "QUEUE_DELAY" | "REQUEST_COUNT";
	/** Seconds with QUEUE_DELAY, jobs per worker with REQUEST_COUNT. */
	scalerValue: number;
}

/**
 * Workers wanted, those on their way out left out. Fewer than present only for idle ones of which
 * enough stay, and for what is above the maximum and not busy; busy ones are never stopped (D28),
 * so the maximum binds only what may be added.
 */
export function desiredWorkers(sample: Sample, rule: ScaleRule): number {
	const present = sample.busy + sample.idle + sample.starting;
	const wanted = Math.max(asked(sample, rule, present), present - surplus(sample), rule.workersMin);
	const bounded = Math.max(Math.min(wanted, rule.workersMax), sample.busy);
	return bounded <= present
		? bounded
		: Math.max(present, Math.min(bounded, rule.workersMax - sample.stopping));
}

/** Workers that the waiting jobs ask for. */
function asked(sample: Sample, rule: ScaleRule, present: number): number {
	if (rule.scalerType === "REQUEST_COUNT")
		return sample.busyLow + Math.ceil((sample.waiting + sample.inProgress) / rule.scalerValue);
	if (sample.waiting === 0) return 0;
	if (present === 0) return 1;
	// One at a time, as far apart as the wait that asks for them, and no more on the way than jobs
	// wait: a slow start is no reason for another. One that has long been idle is no help: it may
	// still run an old attempt of what waits (D16 Fence).
	const delayMs = rule.scalerValue * 1000;
	const late =
		sample.oldestWaitMs > delayMs &&
		sample.sinceStartMs > delayMs &&
		sample.starting + sample.idleFresh < sample.waiting;
	return present + Number(late);
}

/**
 * Idle workers that may go: none while jobs wait, and while others work one stays warm for the next
 * burst.
 */
function surplus({ waiting, busy, idle, idleTooLong }: Sample): number {
	if (waiting > 0) return 0;
	return Math.min(idleTooLong, busy > 0 ? Math.max(0, idle - 1) : idle);
}
