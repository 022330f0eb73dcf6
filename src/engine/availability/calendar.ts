/**
 * Time of day of job times. The job clock leaves out steps of the time of day and pauses of the
 * service; each of them is recorded, so that every job time is shown as it was on the wall.
 */
import type { EpochMs, WallMs } from "../../core/time.ts";
import type { ClockStep } from "../../store/contract/time.ts";

export interface Calendar {
	/** The time of day, the same on all servers that share a store. */
	now(): WallMs;
	/** The time of day of a job time. */
	of(at: EpochMs): WallMs;
	/** The job time of a time of day; of those that a backward step repeated, the later. */
	jobTime(wall: WallMs): EpochMs;
}

export interface StepRecord extends Calendar {
	/** The last step. */
	last(): ClockStep;
	/** Replaces all steps. */
	load(steps: readonly ClockStep[]): void;
	add(step: ClockStep): void;
}

/** Steps kept in memory, as in the store. */
const KEPT_STEPS = 1000;

const NONE: ClockStep = { serial: 0, at: 0, ahead: 0 };

export function stepRecord(now: () => EpochMs): StepRecord {
	let steps: readonly ClockStep[] = [];
	const last = (): ClockStep => steps.at(-1) ?? NONE;
	/** Before the first step both were equal; earlier steps than the kept ones are unknown. */
	const first = (): ClockStep => (steps[0]?.serial === 1 ? NONE : (steps[0] ?? NONE));
	const of = (at: EpochMs): WallMs => (at as number) + (steps.findLast((step) => step.at <= at) ?? first()).ahead;
	return {
		last,
		load: (stored) => void (steps = stored),
		add: (step) => void (steps = [...steps, step].slice(-KEPT_STEPS)),
		now: () => of(now()),
		of,
		jobTime(wall) {
			const index = steps.findLastIndex(({ at, ahead }) => at + ahead <= wall);
			const { ahead } = steps[index] ?? first();
			return Math.min(wall - ahead, steps[index + 1]?.at ?? Infinity);
		},
	};
}
