/** Counters over time (D40). */
import type { MetricsRow } from "../contract/metrics.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, rows, sql } from "./work.ts";

const METRICS = columns<MetricsRow>("endpoint, step, at, source, tally");

const PUT = sql(`
  INSERT INTO metrics (${METRICS.names}) VALUES (${METRICS.parameters})
  ON CONFLICT (endpoint, step, at, source) DO UPDATE SET tally = excluded.tally`);
const ONE = sql(`SELECT ${METRICS.names} FROM metrics WHERE endpoint = $4 AND step = $1 AND at >= $2 AND at < $3`);
const ALL = sql(`SELECT ${METRICS.names} FROM metrics WHERE step = $1 AND at >= $2 AND at < $3`);
const EXPIRE = sql(
	`DELETE FROM metrics WHERE (endpoint, step, at, source) IN (
    SELECT endpoint, step, at, source FROM metrics WHERE step = $1 AND at < $2 ORDER BY at LIMIT $3)`,
);

export const metrics = {
	put: write<"metrics.put">(function* (q) {
		for (const row of q.rows) yield* change(PUT, ...METRICS.values(row));
	}),

	read: read<"metrics.read">(function* ({ endpoints, step, from, to }) {
		if (!endpoints) return (yield* rows(ALL, step, from, to)).map(METRICS.from);
		const found: MetricsRow[] = [];
		for (const endpoint of endpoints) found.push(...(yield* rows(ONE, step, from, to, endpoint)).map(METRICS.from));
		return found;
	}),

	expire: write<"metrics.expire">(function* ({ step, before, limit }) {
		return yield* change(EXPIRE, step, before, limit);
	}),
};
