/** API keys (D30) and worker tokens (D26), by hash. */
import { removal } from "../operations/steps.ts";
import { KEY_COLUMNS, TOKEN_COLUMNS, keyFrom, tokenFrom } from "../table-rows.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import type { DialectHandlers } from "../operations/table.ts";

export function openKeys({ db }: UnitOfWork): DialectHandlers<"keys"> {
	const any = db.prepare("SELECT 1 FROM keys LIMIT 1");
	const insert = db.prepare(
		"INSERT INTO keys (id, hash, name, scopes, endpoints, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
	);
	const select = db.prepare(`SELECT ${KEY_COLUMNS} FROM keys WHERE hash = ? OR previous_hash = ?`);
	const all = db.prepare(`SELECT ${KEY_COLUMNS} FROM keys ORDER BY created_at, rowid`);
	const used = db.prepare(
		"UPDATE keys SET last_used_at = ?, last_used_address = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?",
	);
	const rotate = db.prepare(
		"UPDATE keys SET previous_hash = hash, previous_until = ?, hash = ?, expires_at = ? WHERE id = ? RETURNING id",
	);
	const remove = db.prepare("DELETE FROM keys WHERE id = ?");
	const removeSessions = db.prepare("DELETE FROM sessions WHERE key_id = ?");
	return {
		insert({ row, ifNone }) {
			if (ifNone && any.get()) return false;
			insert.run(
				row.id,
				row.hash,
				row.name,
				JSON.stringify(row.scopes),
				row.endpoints ? JSON.stringify(row.endpoints) : null,
				row.createdAt,
				row.expiresAt ?? null,
			);
			return true;
		},

		find({ hash }) {
			const found = select.get(hash, hash);
			return found && keyFrom(found);
		},

		list: () => all.all().map(keyFrom),

		used({ id, now, address }) {
			used.run(now, address ?? null, id, now);
		},

		rotate({ id, hash, previousUntil, expiresAt }) {
			const found = rotate.get(previousUntil, hash, expiresAt ?? null, id);
			if (found) removeSessions.run(id);
			return found !== undefined;
		},

		remove(q) {
			const outcome = removal(all.all().map(keyFrom), q);
			if (outcome === "removed") {
				remove.run(q.id);
				removeSessions.run(q.id);
			}
			return outcome;
		},
	};
}

export function openTokens({ db }: UnitOfWork): DialectHandlers<"tokens"> {
	const replace = db.prepare("INSERT OR REPLACE INTO tokens (hash, endpoint, worker, created_at) VALUES (?, ?, ?, ?)");
	const select = db.prepare(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ?`);
	const all = db.prepare(`SELECT ${TOKEN_COLUMNS} FROM tokens`);
	const remove = db.prepare("DELETE FROM tokens WHERE worker = ?");
	return {
		put({ hash, endpoint, worker, createdAt }) {
			replace.run(hash, endpoint, worker ?? null, createdAt);
		},

		find({ hash }) {
			const found = select.get(hash);
			return found && tokenFrom(found);
		},

		list: () => all.all().map(tokenFrom),

		remove({ worker }) {
			remove.run(worker);
		},
	};
}
