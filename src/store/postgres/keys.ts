/**
 * API keys (D30) and worker tokens (D26), by hash. Other servers cache found keys and so are
 * notified of removals; missing keys are not cached.
 */
import { removal } from "../operations/steps.ts";
import { KEY_COLUMNS, TOKEN_COLUMNS, keyFrom, tokenFrom } from "../table-rows.ts";
import type { KeyRow, KeyStore } from "../contract/keys.ts";
import type { Signal } from "../contract/store.ts";
import type { TokenStore } from "../contract/workers.ts";
import type { Database } from "./connection/database.ts";
import { statement, type Value } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

// One transaction at a time adds or removes keys: both depend on the existing ones.
const ALONE = statement("LOCK TABLE keys IN SHARE ROW EXCLUSIVE MODE");
const ANY = statement("SELECT 1 FROM keys LIMIT 1");
const INSERT = statement(
	"INSERT INTO keys (id, hash, name, scopes, endpoints, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
const FIND = statement(`SELECT ${KEY_COLUMNS} FROM keys WHERE hash = $1 OR previous_hash = $1`);
const ALL = statement(`SELECT ${KEY_COLUMNS} FROM keys ORDER BY created_at, number`);
const USED = statement(
	"UPDATE keys SET last_used_at = $2, last_used_address = $3 WHERE id = $1 AND coalesce(last_used_at, 0) < $2",
);
const ROTATE = statement(
	"UPDATE keys SET previous_hash = hash, previous_until = $2, hash = $3, expires_at = $4 WHERE id = $1",
);
const REMOVE = statement("DELETE FROM keys WHERE id = $1");
const REMOVE_SESSIONS = statement("DELETE FROM sessions WHERE key_id = $1");

/** `notifyOthers` is called after the commit. */
export function openKeys({
	database: { read, write },
	notifyOthers,
}: {
	database: Database;
	notifyOthers: (signal: Signal) => void;
}): KeyStore {
	return {
		insert: ({ row, ifNone }) =>
			write(async ({ run }) => {
				await run(ALONE);
				if (ifNone && (await run(ANY)).rows.length > 0) return false;
				await run(INSERT, [
					row.id,
					row.hash,
					JSON.stringify(row.name),
					JSON.stringify(row.scopes),
					row.endpoints ? JSON.stringify(row.endpoints) : null,
					row.createdAt,
					row.expiresAt ?? null,
				]);
				return true;
			}),

		async find({ hash }) {
			const [found] = (await read.run(FIND, [hash])).rows;
			return found && named(found);
		},

		list: async () => (await read.run(ALL)).rows.map(named),

		async used({ id, now, address }) {
			await write((run) => run.run(USED, [id, now, address ?? null]));
		},

		async rotate({ id, hash, previousUntil, expiresAt }) {
			if (!isStorable(id)) return false;
			const { count } = await write(async ({ run }) => {
				const rotated = await run(ROTATE, [id, previousUntil, hash, expiresAt ?? null]);
				await run(REMOVE_SESSIONS, [id]);
				return rotated;
			});
			if (count > 0) notifyOthers({ kind: "access" });
			return count > 0;
		},

		async remove(q) {
			const { id } = q;
			if (!isStorable(id)) return "missing";
			const outcome = await write(async ({ run }) => {
				await run(ALONE);
				const found = removal((await run(ALL)).rows.map(named), q);
				if (found === "removed") for (const each of [REMOVE, REMOVE_SESSIONS]) await run(each, [id]);
				return found;
			});
			if (outcome === "removed") notifyOthers({ kind: "access" });
			return outcome;
		},
	};
}

/** Names are stored as JSON: PostgreSQL's text has no NUL. */
function named(values: Value[]): KeyRow {
	const row = keyFrom(values);
	return { ...row, name: JSON.parse(row.name) as string };
}

const REPLACE_TOKEN = statement(`
  INSERT INTO tokens (hash, endpoint, worker, created_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (hash) DO UPDATE SET endpoint = excluded.endpoint, worker = excluded.worker,
    created_at = excluded.created_at`);
const FIND_TOKEN = statement(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = $1`);
const ALL_TOKENS = statement(`SELECT ${TOKEN_COLUMNS} FROM tokens`);
const REMOVE_TOKENS = statement("DELETE FROM tokens WHERE worker = $1");

/** `notifyOthers` is called after the commit. */
export function openTokens({
	database: { read, write },
	notifyOthers,
}: {
	database: Database;
	notifyOthers: (signal: Signal) => void;
}): TokenStore {
	return {
		async put({ hash, endpoint, worker, createdAt }) {
			await write((run) => run.run(REPLACE_TOKEN, [hash, endpoint, worker ?? null, createdAt]));
		},

		async find({ hash }) {
			const [found] = (await read.run(FIND_TOKEN, [hash])).rows;
			return found && tokenFrom(found);
		},

		list: async () => (await read.run(ALL_TOKENS)).rows.map(tokenFrom),

		async remove({ worker }) {
			const { count } = await write((run) => run.run(REMOVE_TOKENS, [worker]));
			if (count > 0) notifyOthers({ kind: "access" });
		},
	};
}
