/** How many workers an endpoint should have, from one look at it. Pure: sampling and acting are elsewhere. */

/** What was seen. `waiting` leaves low-priority jobs out (D20). */
export interface Sample {
  waiting: number;
  busy: number;
  idle: number;
  starting: number;
  /** Idle workers whose `idleTimeout` has passed. */
  idleTooLong: number;
}

/** Bounds of the endpoint (D27). */
export interface ScaleBounds {
  workersMin: number;
  workersMax: number;
}

/** Workers wanted: the minimum, and one more at a time while jobs wait and nobody is free or on the way; fewer when some idled too long. */
export function desiredWorkers(sample: Sample, { workersMin, workersMax }: ScaleBounds): number {
  const present = sample.busy + sample.idle + sample.starting;
  let wanted = present;
  if (sample.waiting > 0 && sample.idle + sample.starting === 0) wanted += 1;
  else if (sample.waiting === 0) wanted -= sample.idleTooLong;
  // Busy workers are never stopped (D28), so the maximum binds only what may be added.
  return Math.max(Math.min(Math.max(wanted, workersMin), workersMax), sample.busy);
}
