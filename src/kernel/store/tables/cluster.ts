/** The last time seen by any server, and what each server has admitted lately (D24). */
import type { LastSeen, CountRow } from "../contract/cluster.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, type Value, columns } from "./work.ts";

export const LAST_SEEN = "time";

const FIND_META = sql("SELECT value FROM meta WHERE name = $1");
const PUT_META = sql(
	"INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
);

export function lastSeenFrom(value: Value | undefined): LastSeen | undefined {
	return typeof value === "string" ? (JSON.parse(value) as LastSeen) : undefined;
}

export const time = {
	read: read<"time.read">(function* () {
		const [last] = yield* rows(FIND_META, LAST_SEEN);
		return lastSeenFrom(last?.[0]);
	}),

	seen: write<"time.seen">(function* (q) {
		yield* change(PUT_META, LAST_SEEN, JSON.stringify(q));
	}),
};

const COUNTS = columns<CountRow>("run, server, at, counts");

const PUT_COUNTS = sql(`
  INSERT INTO limit_counts (${COUNTS.names}) VALUES (${COUNTS.parameters})
  ON CONFLICT (run) DO UPDATE SET ${COUNTS.replaced(1)}`);
const LIST_COUNTS = sql(`SELECT ${COUNTS.names} FROM limit_counts WHERE at > $1`);
const EXPIRE_COUNTS = sql("DELETE FROM limit_counts WHERE at <= $1");

export const limits = {
	put: write<"limits.put">(function* (row) {
		yield* change(PUT_COUNTS, ...COUNTS.values(row));
	}),

	list: read<"limits.list">(function* ({ after }) {
		return (yield* rows(LIST_COUNTS, after)).map(COUNTS.from);
	}),

	expire: write<"limits.expire">(function* ({ until }) {
		yield* change(EXPIRE_COUNTS, until);
	}),
};
