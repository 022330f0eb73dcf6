/** The audit log (D42). */
import type { AuditEntry } from "../contract/audit.ts";
import { cursorOf, numberOf } from "../cursor.ts";
import { read, write } from "../operations/operation.ts";
import { change, rows, sql } from "./work.ts";

const APPEND = sql("INSERT INTO audit (at, entry, key_id, action) VALUES ($1, $2, $3, $4)");
/** One statement with parameters that may be null would use no index. */
const LIST = {
	all: list(""),
	key: list("key_id = $3 AND "),
	action: list("action = $3 AND "),
	both: list("key_id = $3 AND action = $4 AND "),
};
const EXPIRE = sql("DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE at < $1 ORDER BY at LIMIT $2)");

function list(where: string) {
	return sql(`SELECT number, entry FROM audit WHERE ${where}number < $1 ORDER BY number DESC LIMIT $2`);
}

export const audit = {
	append: write<"audit.append">(function* ({ entry }) {
		yield* change(APPEND, entry.at, JSON.stringify(entry), entry.keyId, entry.action);
	}),

	list: read<"audit.list">(function* ({ cursor, limit, keyId, action }) {
		const filter =
			keyId === undefined ? (action === undefined ? "all" : "action") : action === undefined ? "key" : "both";
		const values = [keyId, action].filter((value) => value !== undefined);
		const found = yield* rows(LIST[filter], numberOf(cursor) ?? Number.MAX_SAFE_INTEGER, limit + 1, ...values);
		const page = found.slice(0, limit);
		const last = page.at(-1);
		return {
			entries: page.map(([, entry]) => JSON.parse(String(entry)) as AuditEntry),
			next: last && found.length > limit ? cursorOf(Number(last[0])) : undefined,
		};
	}),

	expire: write<"audit.expire">(function* ({ before, limit }) {
		return yield* change(EXPIRE, before, limit);
	}),
};
