/** API keys (D30) and worker tokens (D26). Servers remember the hashes that they found, never that one is missing. */
import type { KeyRow } from "../contract/keys.ts";
import type { TokenRow } from "../contract/workers.ts";
import { removal } from "../operations/steps.ts";
import { read, write } from "../operations/operation.ts";
import { columns } from "./columns.ts";
import { change, lock, notify, rows, sql } from "./work.ts";

const KEYS = columns<KeyRow>(
	"id, hash, name, scopes, endpoints, created_at, expires_at, last_used_at, last_used_address",
	{
		scopes: (scopes: string) => JSON.parse(scopes) as string[],
		endpoints: (endpoints: string) => JSON.parse(endpoints) as string[],
	},
);

const ANY = sql("SELECT 1 FROM keys LIMIT 1");
const INSERT = sql(
	"INSERT INTO keys (id, hash, name, scopes, endpoints, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
const FIND = sql(`SELECT ${KEYS.names} FROM keys WHERE hash = $1`);
const ALL = sql(`SELECT ${KEYS.names} FROM keys ORDER BY created_at, id`);
const USED = sql(
	"UPDATE keys SET last_used_at = $2, last_used_address = $3 WHERE id = $1 AND coalesce(last_used_at, 0) < $2",
);
/** Servers of the version before accept an earlier key by these two columns. */
const ROTATE = sql(
	"UPDATE keys SET hash = $2, expires_at = coalesce($3, expires_at), previous_hash = NULL, previous_until = NULL " +
		"WHERE id = $1",
);
const REMOVE = sql("DELETE FROM keys WHERE id = $1");
const REMOVE_SESSIONS = sql("DELETE FROM sessions WHERE key_id = $1");

export const keys = {
	insert: write<"keys.insert">(function* ({ row, ifNone }) {
		yield* lock("keys");
		if (ifNone && (yield* rows(ANY)).length > 0) return false;
		const { id, hash, name, scopes, endpoints, createdAt, expiresAt } = row;
		const only = endpoints ? JSON.stringify(endpoints) : null;
		yield* change(INSERT, id, hash, name, JSON.stringify(scopes), only, createdAt, expiresAt ?? null);
		return true;
	}),

	find: read<"keys.find">(function* ({ hash }) {
		return (yield* rows(FIND, hash)).map(KEYS.from)[0];
	}),

	list: read<"keys.list">(function* () {
		return (yield* rows(ALL)).map(KEYS.from);
	}),

	used: write<"keys.used">(function* ({ id, now, address }) {
		yield* change(USED, id, now, address ?? null);
	}),

	rotate: write<"keys.rotate">(function* ({ id, hash, expiresAt }) {
		if ((yield* change(ROTATE, id, hash, expiresAt ?? null)) === 0) return undefined;
		yield* change(REMOVE_SESSIONS, id);
		yield* notify("access");
		return (yield* rows(FIND, hash)).map(KEYS.from)[0];
	}),

	remove: write<"keys.remove">(function* (q) {
		yield* lock("keys");
		const outcome = removal((yield* rows(ALL)).map(KEYS.from), q);
		if (outcome !== "removed") return outcome;
		yield* change(REMOVE, q.id);
		yield* change(REMOVE_SESSIONS, q.id);
		yield* notify("access");
		return outcome;
	}),
};

const TOKENS = columns<TokenRow>("hash, endpoint, worker, launched_as, created_at");

const PUT_TOKEN = sql(`
  INSERT INTO tokens (${TOKENS.names}) VALUES (${TOKENS.parameters})
  ON CONFLICT (hash) DO UPDATE SET ${TOKENS.replaced(1)}`);
const FIND_TOKEN = sql(`SELECT ${TOKENS.names} FROM tokens WHERE hash = $1`);
const ALL_TOKENS = sql(`SELECT ${TOKENS.names} FROM tokens`);
const REMOVE_TOKENS = sql("DELETE FROM tokens WHERE worker = $1");

export const tokens = {
	put: write<"tokens.put">(function* (row) {
		yield* change(PUT_TOKEN, ...TOKENS.values(row));
	}),

	find: read<"tokens.find">(function* ({ hash }) {
		return (yield* rows(FIND_TOKEN, hash)).map(TOKENS.from)[0];
	}),

	list: read<"tokens.list">(function* () {
		return (yield* rows(ALL_TOKENS)).map(TOKENS.from);
	}),

	remove: write<"tokens.remove">(function* ({ worker }) {
		if ((yield* change(REMOVE_TOKENS, worker)) > 0) yield* notify("access");
	}),
};
