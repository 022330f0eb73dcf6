/** What relates the job clock to the time of day, in the store's contract; rules: store.ts. */

/** A step of the clock: from the job time `at` on, the time of day is ahead of the job clock by `ahead` ms. */
export interface ClockStep {
	/** 1, 2, 3, … */
	serial: number;
	at: number;
	ahead: number;
}

/** A job time with readings of the clocks at that moment. */
export interface LastSeen {
	at: number;
	/** Time of day. */
	wall: number;
	/** The machine's start, and the time since, ms. */
	boot?: { id: string; ms: number };
}

export interface TimeStore {
	/** The latest steps in order, and the last time of an earlier run. */
	read(): Promise<{ steps: ClockStep[]; lastSeen?: LastSeen }>;
	/** Adds a step; false if one of this serial exists. Old steps are removed. */
	step(q: ClockStep): Promise<boolean>;
	/** Replaces the last time seen. */
	seen(q: LastSeen): Promise<void>;
}
