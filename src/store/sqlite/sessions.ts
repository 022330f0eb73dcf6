/** Sessions of the console (D31). */
import { SESSION_COLUMNS, sessionFrom, sessionValues } from "../table-rows.ts";
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openSessions({ db }: UnitOfWork): DialectHandlers<"sessions"> {
	const insert = db.prepare(`INSERT INTO sessions (${SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
	const removeOver = db.prepare("DELETE FROM sessions WHERE until <= ? OR last_used_at < ?");
	const removeBeyond = db.prepare(
		`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE key_id = ?
			ORDER BY last_used_at DESC, id DESC LIMIT -1 OFFSET ?)`,
	);
	const select = db.prepare(`SELECT ${SESSION_COLUMNS} FROM sessions WHERE hash = ?`);
	const all = db.prepare(`SELECT ${SESSION_COLUMNS} FROM sessions ORDER BY last_used_at DESC, id DESC`);
	const used = db.prepare("UPDATE sessions SET last_used_at = ?, address = ? WHERE id = ? AND last_used_at < ?");
	const remove = db.prepare("DELETE FROM sessions WHERE id = ?");
	const removeAll = db.prepare("DELETE FROM sessions WHERE (? IS NULL OR key_id = ?) AND id IS NOT ?");
	return {
		insert({ row, atMost, usedSince, now }) {
			removeOver.run(now, usedSince);
			insert.run(...sessionValues(row).map((value) => (typeof value === "boolean" ? Number(value) : value)));
			removeBeyond.run(row.keyId, atMost);
		},

		find({ hash }) {
			const found = select.get(hash);
			return found && sessionFrom(found);
		},

		list: () => all.all().map(sessionFrom),

		used({ id, now, address }) {
			used.run(now, address, id, now);
		},

		remove: ({ id }) => Number(remove.run(id).changes) > 0,

		removeAll: ({ keyId, except }) => Number(removeAll.run(keyId ?? null, keyId ?? null, except ?? null).changes),
	};
}
