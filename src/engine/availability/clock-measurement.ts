/** One comparison of this machine's clock with the time of day and the last time stored (D16, decision 0005). */
import type { Clock } from "../../clock.ts";
import type { EpochMs, LocalMs, WallMs } from "../../core/time.ts";
import type { Store } from "../../store/contract/store.ts";
import type { LastSeen } from "../../store/contract/time.ts";

/** A larger difference between the time of day and the job clock is a step, ms. */
export const STEP_MS = 1000;

/** A server that stored its time at most this long ago ran meanwhile, ms. */
const OTHERS_MS = 4000;

/** The time of day, read between two moments of this machine. */
export interface ClockMeasurement {
	from: LocalMs;
	to: LocalMs;
	wall: WallMs;
	/** The last time stored. */
	seen: LastSeen | undefined;
}

/** Reads the database's time of day where servers share one, else this machine's. */
export async function measureClock(clock: Clock, store: Pick<Store, "time" | "cluster">): Promise<ClockMeasurement> {
	const from = clock.now();
	if (!store.cluster) {
		const wall = clock.wall();
		return { from, to: from, wall, seen: await store.time.read() };
	}
	const { wall, seen } = await store.cluster.clock();
	return { from, to: clock.now(), wall, seen };
}

/**
 * Returns the job time at the measured time of day: the last one stored plus the time of day that
 * passed since. A large difference to `own`, the time by this server's clock, means that the time of
 * day was set, and `own` counts, unless another server ran while this one did not. A server that
 * starts has no `own`.
 */
export function measuredTime(
	{ wall, seen }: ClockMeasurement,
	own: EpochMs | undefined,
	server: string | undefined,
): EpochMs {
	if (!seen) return own ?? (wall as number);
	const passed = wall - seen.wall;
	const expected = seen.at + passed;
	if (own === undefined) return Math.max(seen.at, expected);
	if (Math.abs(expected - own) <= STEP_MS) return expected;
	const otherRan = seen.server !== server && passed >= 0 && passed <= OTHERS_MS;
	return otherRan ? Math.max(expected, own) : own;
}
