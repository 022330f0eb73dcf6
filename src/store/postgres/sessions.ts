/** Sessions of the console (D31). Other servers cache those they found, and are notified of ends. */
import { SESSION_COLUMNS, sessionFrom, sessionValues } from "../table-rows.ts";
import type { SessionStore } from "../contract/sessions.ts";
import type { Signal } from "../contract/store.ts";
import type { Database } from "./connection/database.ts";
import { statement } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

const INSERT = statement(
	`INSERT INTO sessions (${SESSION_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
);
const REMOVE_OVER = statement("DELETE FROM sessions WHERE until <= $1 OR last_used_at < $2");
const REMOVE_BEYOND = statement(
	`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE key_id = $1
    ORDER BY last_used_at DESC, id DESC OFFSET $2)`,
);
const FIND = statement(`SELECT ${SESSION_COLUMNS} FROM sessions WHERE hash = $1`);
const ALL = statement(`SELECT ${SESSION_COLUMNS} FROM sessions ORDER BY last_used_at DESC, id DESC`);
const USED = statement("UPDATE sessions SET last_used_at = $2, address = $3 WHERE id = $1 AND last_used_at < $2");
const REMOVE = statement("DELETE FROM sessions WHERE id = $1");
const REMOVE_ALL = statement("DELETE FROM sessions WHERE ($1::text IS NULL OR key_id = $1) AND id IS DISTINCT FROM $2");

/** `notifyOthers` is called after the commit. */
export function openSessions({
	database: { read, write },
	notifyOthers,
}: {
	database: Database;
	notifyOthers: (signal: Signal) => void;
}): SessionStore {
	return {
		insert: ({ row, atMost, usedSince, now }) =>
			write(async ({ run }) => {
				await run(REMOVE_OVER, [now, usedSince]);
				await run(INSERT, sessionValues(row));
				await run(REMOVE_BEYOND, [row.keyId, atMost]);
			}),

		async find({ hash }) {
			const [found] = (await read.run(FIND, [hash])).rows;
			return found && sessionFrom(found);
		},

		list: async () => (await read.run(ALL)).rows.map(sessionFrom),

		async used({ id, now, address }) {
			await write((run) => run.run(USED, [id, now, address]));
		},

		async remove({ id }) {
			if (!isStorable(id)) return false;
			const { count } = await write((run) => run.run(REMOVE, [id]));
			if (count > 0) notifyOthers({ kind: "access" });
			return count > 0;
		},

		async removeAll({ keyId, except }) {
			if (!isStorable(keyId ?? "")) return 0;
			const { count } = await write((run) => run.run(REMOVE_ALL, [keyId ?? null, except ?? null]));
			if (count > 0) notifyOthers({ kind: "access" });
			return count;
		},
	};
}
