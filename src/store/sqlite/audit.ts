/** The audit log (D42). */
import { cursorOf, numberOf } from "../cursor.ts";
import { auditFilter } from "../table-rows.ts";
import type { AuditEntry } from "../contract/audit.ts";
import type { Statement } from "./database.ts";
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openAudit({ db }: UnitOfWork): DialectHandlers<"audit"> {
	const append = db.prepare("INSERT INTO audit (at, entry, key_id, action) VALUES (?, ?, ?, ?)");
	const selects = new Map<string, Statement>();
	const over = db.prepare("SELECT number FROM audit WHERE at < ? ORDER BY at LIMIT ?");
	const remove = db.prepare("DELETE FROM audit WHERE number = ?");

	function selectBy(where: string): Statement {
		const found =
			selects.get(where) ??
			db.prepare(`SELECT number, entry FROM audit WHERE ${where}number < ? ORDER BY number DESC LIMIT ?`);
		selects.set(where, found);
		return found;
	}

	return {
		append({ entry }) {
			append.run(entry.at, JSON.stringify(entry), entry.keyId, entry.action);
		},

		list({ cursor, limit, ...filter }) {
			const { where, values } = auditFilter(filter, () => "?");
			const below = numberOf(cursor) ?? Number.MAX_SAFE_INTEGER;
			const rows = selectBy(where).all(...values, below, limit + 1);
			const page = rows.slice(0, limit);
			const last = page.at(-1);
			return {
				entries: page.map(([, entry]) => JSON.parse(String(entry)) as AuditEntry),
				next: last && rows.length > limit ? cursorOf(Number(last[0])) : undefined,
			};
		},

		expire({ before, limit }) {
			const old = over.all(before, limit);
			for (const [number] of old) remove.run(Number(number));
			return old.length;
		},
	};
}
