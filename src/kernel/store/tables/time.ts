import type { LastSeen } from "../contract/time.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, type Value } from "./work.ts";

export const LAST_SEEN = "time";

const LAST = sql("SELECT value FROM meta WHERE name = $1");
const PUT = sql(
	"INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
);

export function lastSeenFrom(value: Value | undefined): LastSeen | undefined {
	return typeof value === "string" ? (JSON.parse(value) as LastSeen) : undefined;
}

export const time = {
	read: read<"time.read">(function* () {
		const [last] = yield* rows(LAST, LAST_SEEN);
		return lastSeenFrom(last?.[0]);
	}),

	seen: write<"time.seen">(function* (q) {
		yield* change(PUT, LAST_SEEN, JSON.stringify(q));
	}),
};
