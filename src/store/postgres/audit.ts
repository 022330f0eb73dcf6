/** The audit log (D42). */
import { cursorOf, numberOf } from "../cursor.ts";
import { auditFilter } from "../table-rows.ts";
import type { AuditEntry, AuditStore } from "../contract/audit.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

const APPEND = statement("INSERT INTO audit (at, entry, key_id, action) VALUES ($1, $2, $3, $4)");
/** Each its own statement: one with parameters that may be null would use no index. */
const SELECT = new Map(
	["", "key_id = $3 AND ", "action = $3 AND ", "key_id = $3 AND action = $4 AND "].map((where) => [
		where,
		statement(`SELECT number, entry FROM audit WHERE ${where}number < $1 ORDER BY number DESC LIMIT $2`),
	]),
);
const EXPIRE = statement(
	"DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < $1 ORDER BY at LIMIT $2)",
);

export function openAudit({ database: { read, write } }: { database: Database }): AuditStore {
	return {
		async append({ entry }) {
			const { at, keyId, action } = entry;
			await write((run) => run.run(APPEND, [at, JSON.stringify(entry), keyId, action]));
		},

		async list({ cursor, limit, ...filter }) {
			const below = numberOf(cursor) ?? Number.MAX_SAFE_INTEGER;
			const { where, values } = auditFilter(filter, (n) => `$${n + 2}`);
			if (!values.every(isStorable)) return { entries: [] };
			const { rows } = await read.run(SELECT.get(where)!, [below, limit + 1, ...values]);
			const page = rows.slice(0, limit);
			const last = page.at(-1);
			return {
				entries: page.map(([, entry]) => JSON.parse(String(entry)) as AuditEntry),
				next: last && rows.length > limit ? cursorOf(Number(last[0])) : undefined,
			};
		},

		async expire({ before, limit }) {
			return (await write((run) => run.run(EXPIRE, [before, limit]))).count;
		},
	};
}
