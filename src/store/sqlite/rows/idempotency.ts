/** The keys under which clients submitted jobs, per endpoint and operation (D14). */
import type { Operation } from "../../../core/job.ts";
import type { Database } from "../database.ts";
import type { Queue } from "./row.ts";

/** Whose key it is. */
export interface KeyPlace {
	queue: Queue;
	operation: Operation;
	key: string;
}

/** What a key was used for. */
export interface KeyUse {
	bodyHash: string;
	/** Id of the job, which may be gone. */
	job: string;
}

export function openIdempotencyKeys(db: Database) {
	const select = db.prepare(
		"SELECT body_hash, job FROM idempotency WHERE queue = ? AND operation = ? AND key = ? AND expires_at > ?",
	);
	const replace = db.prepare(
		"INSERT OR REPLACE INTO idempotency (queue, operation, key, body_hash, job, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
	);
	const expired = db.prepare(
		"SELECT queue, operation, key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
	);
	const remove = db.prepare(
		"DELETE FROM idempotency WHERE queue = ? AND operation = ? AND key = ?",
	);
	const next = db.prepare("SELECT min(expires_at) FROM idempotency");

	return {
		/** What a key that has not expired was used for. */
		find({ queue, operation, key }: KeyPlace, now: number): KeyUse | undefined {
			const found = select.get(queue.number, operation, key, now);
			return found && { bodyHash: String(found[0]), job: String(found[1]) };
		},

		put({ queue, operation, key }: KeyPlace, { bodyHash, job }: KeyUse, expiresAt: number): void {
			replace.run(queue.number, operation, key, bodyHash, job, expiresAt);
		},

		/**
		 * Removes up to `limit` expired keys. Answers when the next one expires: `Infinity` when there
		 * is none.
		 */
		expire(now: number, limit: number): number {
			for (const key of expired.all(now, limit)) remove.run(...key);
			return Number(next.get()?.[0] ?? Infinity);
		},
	};
}
