/** Servers keep in memory the sessions that they found (D31). */
import type { SessionRow } from "../contract/sessions.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, notify, rows, sql } from "./work.ts";

const SESSIONS = columns<SessionRow>(
	"id, hash, page, key_id, mark, by_link, created_at, until, last_used_at, address, client",
	{ byLink: Boolean },
);

const INSERT = sql(`INSERT INTO sessions (${SESSIONS.names}) VALUES (${SESSIONS.parameters})`);
const REMOVE_OVER = sql("DELETE FROM sessions WHERE until <= $1 OR last_used_at < $2");
const REMOVE_BEYOND = sql(
	`DELETE FROM sessions WHERE key_id = $1 AND id NOT IN (SELECT id FROM sessions WHERE key_id = $1
    ORDER BY last_used_at DESC, id DESC LIMIT $2)`,
);
const FIND = sql(`SELECT ${SESSIONS.names} FROM sessions WHERE hash = $1`);
const ALL = sql(`SELECT ${SESSIONS.names} FROM sessions ORDER BY last_used_at DESC, id DESC`);
const USED = sql("UPDATE sessions SET last_used_at = $2, address = $3 WHERE id = $1 AND last_used_at < $2");
const REMOVE = sql("DELETE FROM sessions WHERE id = $1");
const REMOVE_ALL = sql(
	"DELETE FROM sessions WHERE (CAST($1 AS text) IS NULL OR key_id = $1) AND id IS DISTINCT FROM $2",
);

export const sessions = {
	insert: write<"sessions.insert">(function* ({ row, atMost, usedSince, now }) {
		yield* change(REMOVE_OVER, now, usedSince);
		yield* change(INSERT, ...SESSIONS.values(row));
		yield* change(REMOVE_BEYOND, row.keyId, atMost);
	}),

	find: read<"sessions.find">(function* ({ hash }) {
		return (yield* rows(FIND, hash)).map(SESSIONS.from)[0];
	}),

	list: read<"sessions.list">(function* () {
		return (yield* rows(ALL)).map(SESSIONS.from);
	}),

	used: write<"sessions.used">(function* ({ id, now, address }) {
		yield* change(USED, id, now, address);
	}),

	remove: write<"sessions.remove">(function* ({ id }) {
		if ((yield* change(REMOVE, id)) === 0) return false;
		yield* notify("access");
		return true;
	}),

	removeAll: write<"sessions.removeAll">(function* ({ keyId, except }) {
		const count = yield* change(REMOVE_ALL, keyId ?? null, except ?? null);
		if (count > 0) yield* notify("access");
		return count;
	}),
};
