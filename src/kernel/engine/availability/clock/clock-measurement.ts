/** Compares this machine's clock with the time of day and the last time stored (D16, decision 0005). */
import type { Clock } from "../../../system/clock.ts";
import type { EpochMs, LocalMs, WallMs } from "../../../lib/time.ts";
import type { Store } from "../../../store/contract/store.ts";
import type { LastSeen } from "../../../store/contract/cluster.ts";

/** A larger difference between the time of day and the job clock is a step. */
export const STEP_MS = 1000;

/** A server that stored its time at most this long ago ran meanwhile. */
const OTHERS_MS = 4000;

/** `wall` was read between `from` and `to`. */
export interface ClockMeasurement {
	from: LocalMs;
	to: LocalMs;
	wall: WallMs;
	seen: LastSeen | undefined;
}

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
 * Returns the last time stored plus the time of day that passed since. A large difference to `own`, the time by this
 * server's clock, means that the time of day was set: then `own` counts, unless another server ran while this one did
 * not.
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
