/** The audit log (D42), counters over time (D40), and texts of modules. */
import type { AuditEntry, MetricsRow } from "../contract/records.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql, columns } from "./work.ts";

const APPEND_ENTRY = sql("INSERT INTO audit (at, entry, key_id, action) VALUES ($1, $2, $3, $4)");
/** One statement with parameters that may be null would use no index. */
const LIST_ENTRIES = {
	all: list(""),
	key: list("key_id = $3 AND "),
	action: list("action = $3 AND "),
	both: list("key_id = $3 AND action = $4 AND "),
};
const EXPIRE_ENTRIES = sql(
	"DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < $1 ORDER BY at LIMIT $2)",
);

function list(where: string) {
	return sql(`SELECT number, entry FROM audit WHERE ${where}number < $1 ORDER BY number DESC LIMIT $2`);
}

export const audit = {
	append: write<"audit.append">(function* ({ entry }) {
		yield* change(APPEND_ENTRY, entry.at, JSON.stringify(entry), entry.keyId, entry.action);
	}),

	list: read<"audit.list">(function* ({ cursor, limit, keyId, action }) {
		const filter =
			keyId === undefined ? (action === undefined ? "all" : "action") : action === undefined ? "key" : "both";
		const values = [keyId, action].filter((value) => value !== undefined);
		const found = yield* rows(LIST_ENTRIES[filter], numberOf(cursor) ?? Number.MAX_SAFE_INTEGER, limit + 1, ...values);
		const page = found.slice(0, limit);
		const last = page.at(-1);
		return {
			entries: page.map(([, entry]) => JSON.parse(String(entry)) as AuditEntry),
			next: last && found.length > limit ? cursorOf(Number(last[0])) : undefined,
		};
	}),

	expire: write<"audit.expire">(function* ({ before, limit }) {
		return yield* change(EXPIRE_ENTRIES, before, limit);
	}),
};

const METRICS = columns<MetricsRow>("endpoint, step, at, source, tally");

const PUT_METRICS = sql(`
  INSERT INTO metrics (${METRICS.names}) VALUES (${METRICS.parameters})
  ON CONFLICT (endpoint, step, at, source) DO UPDATE SET tally = excluded.tally`);
const METRICS_OF_ONE = sql(
	`SELECT ${METRICS.names} FROM metrics WHERE endpoint = $4 AND step = $1 AND at >= $2 AND at < $3`,
);
const METRICS_OF_ALL = sql(`SELECT ${METRICS.names} FROM metrics WHERE step = $1 AND at >= $2 AND at < $3`);
const EXPIRE_METRICS = sql(
	`DELETE FROM metrics WHERE (endpoint, step, at, source) IN (
    SELECT endpoint, step, at, source FROM metrics WHERE step = $1 AND at < $2 ORDER BY at LIMIT $3)`,
);

export const metrics = {
	put: write<"metrics.put">(function* (q) {
		for (const row of q.rows) yield* change(PUT_METRICS, ...METRICS.values(row));
	}),

	read: read<"metrics.read">(function* ({ endpoints, step, from, to }) {
		if (!endpoints) return (yield* rows(METRICS_OF_ALL, step, from, to)).map(METRICS.from);
		const found: MetricsRow[] = [];
		for (const endpoint of endpoints)
			found.push(...(yield* rows(METRICS_OF_ONE, step, from, to, endpoint)).map(METRICS.from));
		return found;
	}),

	expire: write<"metrics.expire">(function* ({ step, before, limit }) {
		return yield* change(EXPIRE_METRICS, step, before, limit);
	}),
};

const READ_DOCUMENT = sql("SELECT value FROM meta WHERE name = $1");
const INSERT_DOCUMENT = sql("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING");
const REPLACE_DOCUMENT = sql("UPDATE meta SET value = $2 WHERE name = $1 AND value = $3");

/** Names are those of modules: `meta` has other rows too. */
export const documents = {
	read: read<"documents.read">(function* (name) {
		const [value] = (yield* rows(READ_DOCUMENT, name))[0] ?? [];
		return typeof value === "string" ? value : undefined;
	}),

	replace: write<"documents.replace">(function* ({ name, from, to }) {
		return (
			(yield* from === undefined ? change(INSERT_DOCUMENT, name, to) : change(REPLACE_DOCUMENT, name, to, from)) > 0
		);
	}),
};
