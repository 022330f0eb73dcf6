/** What each server has admitted lately (D24). */
import type { CountRow } from "../contract/limits.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql } from "./work.ts";

const PUT = sql(`
  INSERT INTO limit_counts (run, server, at, counts) VALUES ($1, $2, $3, $4)
  ON CONFLICT (run) DO UPDATE SET server = excluded.server, at = excluded.at, counts = excluded.counts`);
const LIST = sql("SELECT run, server, at, counts FROM limit_counts WHERE at > $1");
const EXPIRE = sql("DELETE FROM limit_counts WHERE at <= $1");

export const limits = {
	put: write<"limits.put">(function* ({ run, server, at, counts }) {
		yield* change(PUT, run, server, at, counts);
	}),

	list: read<"limits.list">(function* ({ after }) {
		return (yield* rows(LIST, after)).map(
			([run, server, at, counts]): CountRow => ({
				run: String(run),
				server: String(server),
				at: Number(at),
				counts: String(counts),
			}),
		);
	}),

	expire: write<"limits.expire">(function* ({ until }) {
		yield* change(EXPIRE, until);
	}),
};
