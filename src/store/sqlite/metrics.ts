/** Endpoint counters over time (D40). */
import { METRICS_COLUMNS as columns, metricsFrom } from "../table-rows.ts";
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openMetrics({ db }: UnitOfWork): DialectHandlers<"metrics"> {
	const replace = db.prepare(`INSERT OR REPLACE INTO metrics (${columns}) VALUES (?, ?, ?, ?, ?)`);
	const one = db.prepare(`SELECT ${columns} FROM metrics WHERE endpoint = ? AND step = ? AND at >= ? AND at < ?`);
	const all = db.prepare(`SELECT ${columns} FROM metrics WHERE step = ? AND at >= ? AND at < ?`);
	const expire = db.prepare(
		`DELETE FROM metrics WHERE (endpoint, step, at, source) IN (
			SELECT endpoint, step, at, source FROM metrics WHERE step = ? AND at < ? ORDER BY at LIMIT ?)`,
	);

	return {
		put({ rows }) {
			for (const { endpoint, step, at, source, tally } of rows) replace.run(endpoint, step, at, source, tally);
		},

		read({ endpoints, step, from, to }) {
			const found = endpoints
				? endpoints.flatMap((endpoint) => one.all(endpoint, step, from, to))
				: all.all(step, from, to);
			return found.map(metricsFrom);
		},

		expire: ({ step, before, limit }) => Number(expire.run(step, before, limit).changes),
	};
}
