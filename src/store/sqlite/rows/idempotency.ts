/** Idempotency keys (D14). */
import type { KeyPlace, KeyUse } from "../../operations/unit-of-work.ts";
import type { Database } from "../file/database.ts";
import type { Queues } from "./queues.ts";

export function openIdempotencyKeys(db: Database, queues: Queues) {
	const select = db.prepare(
		"SELECT body_hash, job FROM idempotency WHERE queue = ? AND operation = ? AND key = ? AND expires_at > ?",
	);
	const replace = db.prepare(
		"INSERT OR REPLACE INTO idempotency (queue, operation, key, body_hash, job, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
	);
	const expired = db.prepare(
		"SELECT queue, operation, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
	);
	const remove = db.prepare("DELETE FROM idempotency WHERE queue = ? AND operation = ? AND key = ?");
	const next = db.prepare("SELECT min(expires_at) FROM idempotency");

	return {
		find({ endpoint, operation, key }: KeyPlace, now: number): KeyUse | undefined {
			const queue = queues.find(endpoint);
			const found = queue && select.get(queue.number, operation, key, now);
			return found && { bodyHash: String(found[0]), job: String(found[1]) };
		},

		put({ endpoint, operation, key }: KeyPlace, { bodyHash, job }: KeyUse, expiresAt: number): void {
			replace.run(queues.of(endpoint).number, operation, key, bodyHash, job, expiresAt);
		},

		/** Returns when the next key expires, or `Infinity`. */
		expire(now: number, limit: number): number {
			for (const key of expired.all(now, limit)) remove.run(...key);
			return Number(next.get()?.[0] ?? Infinity);
		},
	};
}
