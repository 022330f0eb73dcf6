/**
 * API keys (D30), worker tokens (D26), sessions of the console (D31), logins to registries (D45). Servers remember the
 * hashes that they found, never that one is missing; they read logins at each use.
 */
import type { KeyRow, TokenRow, SessionRow, RegistryRow } from "../contract/access.ts";
import { removal } from "../operations/steps.ts";
import { read, write } from "../operations/operation.ts";
import { columns, change, lock, notify, rows, sql } from "./work.ts";

const KEYS = columns<KeyRow>(
	"id, hash, name, scopes, endpoints, created_at, expires_at, last_used_at, last_used_address",
	{
		scopes: (scopes: string) => JSON.parse(scopes) as string[],
		endpoints: (endpoints: string) => JSON.parse(endpoints) as string[],
	},
);

const ANY_KEY = sql("SELECT 1 FROM keys LIMIT 1");
const INSERT_KEY = sql(
	"INSERT INTO keys (id, hash, name, scopes, endpoints, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
const FIND_KEY = sql(`SELECT ${KEYS.names} FROM keys WHERE hash = $1`);
const ALL_KEYS = sql(`SELECT ${KEYS.names} FROM keys ORDER BY created_at, id`);
const KEY_USED = sql(
	"UPDATE keys SET last_used_at = $2, last_used_address = $3 WHERE id = $1 AND coalesce(last_used_at, 0) < $2",
);
const ROTATE_KEY = sql("UPDATE keys SET hash = $2, expires_at = coalesce($3, expires_at) WHERE id = $1");
const REMOVE_KEY = sql("DELETE FROM keys WHERE id = $1");
const REMOVE_SESSIONS_OF_KEY = sql("DELETE FROM sessions WHERE key_id = $1");

export const keys = {
	insert: write<"keys.insert">(function* ({ row, ifNone }) {
		yield* lock("keys");
		if (ifNone && (yield* rows(ANY_KEY)).length > 0) return false;
		const { id, hash, name, scopes, endpoints, createdAt, expiresAt } = row;
		const only = endpoints ? JSON.stringify(endpoints) : null;
		yield* change(INSERT_KEY, id, hash, name, JSON.stringify(scopes), only, createdAt, expiresAt ?? null);
		return true;
	}),

	find: read<"keys.find">(function* ({ hash }) {
		return (yield* rows(FIND_KEY, hash)).map(KEYS.from)[0];
	}),

	list: read<"keys.list">(function* () {
		return (yield* rows(ALL_KEYS)).map(KEYS.from);
	}),

	used: write<"keys.used">(function* ({ id, now, address }) {
		yield* change(KEY_USED, id, now, address ?? null);
	}),

	rotate: write<"keys.rotate">(function* ({ id, hash, expiresAt }) {
		if ((yield* change(ROTATE_KEY, id, hash, expiresAt ?? null)) === 0) return undefined;
		yield* change(REMOVE_SESSIONS_OF_KEY, id);
		yield* notify("access");
		return (yield* rows(FIND_KEY, hash)).map(KEYS.from)[0];
	}),

	remove: write<"keys.remove">(function* (q) {
		yield* lock("keys");
		const outcome = removal((yield* rows(ALL_KEYS)).map(KEYS.from), q);
		if (outcome !== "removed") return outcome;
		yield* change(REMOVE_KEY, q.id);
		yield* change(REMOVE_SESSIONS_OF_KEY, q.id);
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

const SESSIONS = columns<SessionRow>(
	"id, hash, page, key_id, mark, by_link, created_at, until, last_used_at, address, client",
	{ byLink: Boolean },
);

const INSERT_SESSION = sql(`INSERT INTO sessions (${SESSIONS.names}) VALUES (${SESSIONS.parameters})`);
const REMOVE_OVER = sql("DELETE FROM sessions WHERE until <= $1 OR last_used_at < $2");
const REMOVE_BEYOND = sql(
	`DELETE FROM sessions WHERE key_id = $1 AND id NOT IN (SELECT id FROM sessions WHERE key_id = $1
    ORDER BY last_used_at DESC, id DESC LIMIT $2)`,
);
const FIND_SESSION = sql(`SELECT ${SESSIONS.names} FROM sessions WHERE hash = $1`);
const ALL_SESSIONS = sql(`SELECT ${SESSIONS.names} FROM sessions ORDER BY last_used_at DESC, id DESC`);
const SESSION_USED = sql("UPDATE sessions SET last_used_at = $2, address = $3 WHERE id = $1 AND last_used_at < $2");
const REMOVE_SESSION = sql("DELETE FROM sessions WHERE id = $1");
const REMOVE_SESSIONS = sql(
	"DELETE FROM sessions WHERE (CAST($1 AS text) IS NULL OR key_id = $1) AND id IS DISTINCT FROM $2",
);

export const sessions = {
	insert: write<"sessions.insert">(function* ({ row, atMost, usedSince, now }) {
		yield* change(REMOVE_OVER, now, usedSince);
		yield* change(INSERT_SESSION, ...SESSIONS.values(row));
		yield* change(REMOVE_BEYOND, row.keyId, atMost);
	}),

	find: read<"sessions.find">(function* ({ hash }) {
		return (yield* rows(FIND_SESSION, hash)).map(SESSIONS.from)[0];
	}),

	list: read<"sessions.list">(function* () {
		return (yield* rows(ALL_SESSIONS)).map(SESSIONS.from);
	}),

	used: write<"sessions.used">(function* ({ id, now, address }) {
		yield* change(SESSION_USED, id, now, address);
	}),

	remove: write<"sessions.remove">(function* ({ id }) {
		if ((yield* change(REMOVE_SESSION, id)) === 0) return false;
		yield* notify("access");
		return true;
	}),

	removeAll: write<"sessions.removeAll">(function* ({ keyId, except }) {
		const count = yield* change(REMOVE_SESSIONS, keyId ?? null, except ?? null);
		if (count > 0) yield* notify("access");
		return count;
	}),
};

const REGISTRIES = columns<RegistryRow>("registry, username, password, updated_at");

const PUT_LOGIN = sql(`
  INSERT INTO registries (${REGISTRIES.names}) VALUES (${REGISTRIES.parameters})
  ON CONFLICT (registry) DO UPDATE SET ${REGISTRIES.replaced(1)}`);
const ALL_LOGINS = sql(`SELECT ${REGISTRIES.names} FROM registries ORDER BY registry`);
const REMOVE_LOGIN = sql("DELETE FROM registries WHERE registry = $1");
const REPLACE_PASSWORD = sql("UPDATE registries SET password = $3 WHERE registry = $1 AND password = $2");

export const registries = {
	put: write<"registries.put">(function* ({ row }) {
		yield* change(PUT_LOGIN, ...REGISTRIES.values(row));
	}),

	list: read<"registries.list">(function* () {
		return (yield* rows(ALL_LOGINS)).map(REGISTRIES.from);
	}),

	remove: write<"registries.remove">(function* ({ registry }) {
		return (yield* change(REMOVE_LOGIN, registry)) > 0;
	}),

	replace: write<"registries.replace">(function* ({ registry, from, to }) {
		return (yield* change(REPLACE_PASSWORD, registry, from, to)) > 0;
	}),
};
