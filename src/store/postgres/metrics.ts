/** Counters of endpoints over time (D40). */
import type { MetricsRow, MetricsStore } from "../contract/metrics.ts";
import { numbers, texts } from "./connection/arrays.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";
import { METRICS_COLUMNS as COLUMNS, metricsFrom } from "../table-rows.ts";

const PUT = statement(`
  INSERT INTO metrics (${COLUMNS})
  SELECT * FROM unnest($1::text[], $2::int8[], $3::int8[], $4::text[], $5::text[])
  ON CONFLICT (endpoint, step, at, source) DO UPDATE SET tally = excluded.tally`);
const SOME = statement(
	`SELECT ${COLUMNS} FROM metrics
		WHERE endpoint = ANY ($4::text[]) AND step = $1 AND at >= $2 AND at < $3`,
);
const ALL = statement(`SELECT ${COLUMNS} FROM metrics WHERE step = $1 AND at >= $2 AND at < $3`);
// MATERIALIZED: a subquery that the plan runs again for each row would exceed the limit.
const EXPIRE = statement(`
  WITH old AS MATERIALIZED (
    SELECT ${COLUMNS} FROM metrics WHERE step = $1 AND at < $2
    ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM metrics USING old WHERE metrics.endpoint = old.endpoint AND metrics.step = old.step
    AND metrics.at = old.at AND metrics.source = old.source`);

export function openMetrics({ database: { read, write } }: { database: Database }): MetricsStore {
	return {
		async put({ rows }) {
			const column = <T>(of: (row: MetricsRow) => T): T[] => rows.map(of);
			const values = [
				texts(column(({ endpoint }) => endpoint)),
				numbers(column(({ step }) => step)),
				numbers(column(({ at }) => at)),
				texts(column(({ source }) => source)),
				texts(column(({ tally }) => tally)),
			];
			await write((run) => run.run(PUT, values));
		},

		async read({ endpoints, step, from, to }) {
			const { rows } = endpoints
				? await read.run(SOME, [step, from, to, texts(endpoints)])
				: await read.run(ALL, [step, from, to]);
			return rows.map(metricsFrom);
		},

		expire: async ({ step, before, limit }) => (await write((run) => run.run(EXPIRE, [step, before, limit]))).count,
	};
}
