/** Counters of endpoints over time (D40). */
import type { MetricsRow } from "../contract/metrics.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, type Value } from "./work.ts";

const PUT = sql(`
  INSERT INTO metrics (endpoint, step, at, source, tally) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (endpoint, step, at, source) DO UPDATE SET tally = excluded.tally`);
const ONE = sql(
	"SELECT endpoint, step, at, source, tally FROM metrics WHERE endpoint = $4 AND step = $1 AND at >= $2 AND at < $3",
);
const ALL = sql("SELECT endpoint, step, at, source, tally FROM metrics WHERE step = $1 AND at >= $2 AND at < $3");
const EXPIRE = sql(
	`DELETE FROM metrics WHERE (endpoint, step, at, source) IN (
    SELECT endpoint, step, at, source FROM metrics WHERE step = $1 AND at < $2 ORDER BY at LIMIT $3)`,
);

function metricsFrom(values: readonly Value[]): MetricsRow {
	const [endpoint, step, at, source, tally] = values as [string, number, number, string, string];
	return { endpoint, step, at, source, tally };
}

export const metrics = {
	put: write<"metrics.put">(function* (q) {
		for (const { endpoint, step, at, source, tally } of q.rows) yield* change(PUT, endpoint, step, at, source, tally);
	}),

	read: read<"metrics.read">(function* ({ endpoints, step, from, to }) {
		if (!endpoints) return (yield* rows(ALL, step, from, to)).map(metricsFrom);
		const found: MetricsRow[] = [];
		for (const endpoint of endpoints) found.push(...(yield* rows(ONE, step, from, to, endpoint)).map(metricsFrom));
		return found;
	}),

	expire: write<"metrics.expire">(function* ({ step, before, limit }) {
		return yield* change(EXPIRE, step, before, limit);
	}),
};
