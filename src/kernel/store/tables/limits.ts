/** What each server has admitted lately (D24). */
import type { CountRow } from "../contract/limits.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, rows, sql } from "./work.ts";

const COUNTS = columns<CountRow>("run, server, at, counts");

const PUT = sql(`
  INSERT INTO limit_counts (${COUNTS.names}) VALUES (${COUNTS.parameters})
  ON CONFLICT (run) DO UPDATE SET ${COUNTS.replaced(1)}`);
const LIST = sql(`SELECT ${COUNTS.names} FROM limit_counts WHERE at > $1`);
const EXPIRE = sql("DELETE FROM limit_counts WHERE at <= $1");

export const limits = {
	put: write<"limits.put">(function* (row) {
		yield* change(PUT, ...COUNTS.values(row));
	}),

	list: read<"limits.list">(function* ({ after }) {
		return (yield* rows(LIST, after)).map(COUNTS.from);
	}),

	expire: write<"limits.expire">(function* ({ until }) {
		yield* change(EXPIRE, until);
	}),
};
