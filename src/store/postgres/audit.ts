/** The audit log (D42). */
import { cursorOf, numberOf } from "../cursor.ts";
import type { AuditEntry, AuditStore } from "../contract/audit.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";

const APPEND = statement("INSERT INTO audit (at, entry) VALUES ($1, $2)");
const SELECT = statement(
	"SELECT number, entry FROM audit WHERE number < $1 ORDER BY number DESC LIMIT $2",
);
const EXPIRE = statement(
	"DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < $1 ORDER BY at LIMIT $2)",
);

export function openAudit({ database: { read, write } }: { database: Database }): AuditStore {
	return {
		async append({ entry }) {
			await write((run) => run.run(APPEND, [entry.at, JSON.stringify(entry)]));
		},

		async list({ cursor, limit }) {
			const below = numberOf(cursor) ?? Number.MAX_SAFE_INTEGER;
			const { rows } = await read.run(SELECT, [below, limit + 1]);
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
