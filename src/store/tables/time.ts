/** The job clock against the time of day. */
import type { ClockStep, LastSeen } from "../contract/time.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, type Value } from "./work.ts";

/** Name of the last time seen in `meta`. */
const LAST_SEEN = "time";

/** Number of clock steps that are kept. */
const KEPT_STEPS = 1000;

const STEPS = sql("SELECT serial, at, ahead FROM clock_steps ORDER BY serial");
const ADD = sql("INSERT INTO clock_steps (serial, at, ahead) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
const PRUNE = sql("DELETE FROM clock_steps WHERE serial <= $1");
const LAST = sql("SELECT value FROM meta WHERE name = $1");
const PUT = sql(
	"INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
);

/** Columns `serial, at, ahead`. */
export function stepFrom(values: readonly Value[]): ClockStep {
	const [serial, at, ahead] = values.map(Number) as [number, number, number];
	return { serial, at, ahead };
}

export const time = {
	read: read<"time.read">(function* () {
		const steps = (yield* rows(STEPS)).map(stepFrom);
		const [last] = yield* rows(LAST, LAST_SEEN);
		return { steps, ...(last && { lastSeen: JSON.parse(String(last[0])) as LastSeen }) };
	}),

	step: write<"time.step">(function* ({ serial, at, ahead }) {
		if ((yield* change(ADD, serial, at, ahead)) === 0) return false;
		yield* change(PRUNE, serial - KEPT_STEPS);
		return true;
	}),

	seen: write<"time.seen">(function* (q) {
		yield* change(PUT, LAST_SEEN, JSON.stringify(q));
	}),
};
