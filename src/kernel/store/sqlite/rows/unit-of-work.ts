import type { Reservation, KeyPlace, KeyUse } from "../../operations/unit-of-work.ts";
import { openAttempts } from "./attempts.ts";
import { openChunkRows } from "./chunk-rows.ts";
import type { Database } from "../file/database.ts";
import { openDeliveries } from "./deliveries.ts";
import { openDue, openHorizon } from "./due.ts";
import { openFence } from "./fence.ts";
import { openFileTexts } from "./file-texts.ts";
import { Transitions } from "../../apply-transition.ts";
import { openPurge } from "../queries/purge.ts";
import { Queues } from "./queues.ts";
import { Records } from "./job-records.ts";
import { type Row, type Queue, unpurged } from "./row.ts";
import { openPayloads } from "./payloads.ts";
import { openViews } from "../../views.ts";
import type { Signal } from "../../contract/store.ts";
import { RUNNING, WAITING } from "../../row.ts";

/**
 * Rows, the memory over them, and the open transaction. After `begin` call `commit` and `confirm`, or `rollback` if a
 * step or the commit has thrown.
 */
export class UnitOfWork {
	readonly db;
	readonly signals = new Signals();
	readonly horizon = openHorizon();
	readonly fence = openFence();
	readonly queues;
	readonly records;
	readonly attempts;
	readonly texts;
	readonly payloads;
	readonly chunks;
	readonly deliveries;
	readonly transitions;
	readonly purge;
	readonly due;
	readonly views;
	readonly live;
	readonly idempotency;
	#undo: (() => void)[] = [];
	readonly #beginning;
	readonly #committing;

	/** `keptRows` and `reservations`: for tests. */
	constructor(
		db: Database,
		{ keptRows, reservations = new Map() }: { keptRows?: number; reservations?: Map<number, Reservation> } = {},
	) {
		const { signals, horizon, fence } = this;
		const onRollback = (restore: () => void): void => void this.#undo.push(restore);
		this.db = db;
		const queues = (this.queues = new Queues(db));
		const records = (this.records = new Records(db, queues, (dueAt) => horizon.note(dueAt), keptRows));
		const attempts = (this.attempts = openAttempts(db, records, (worker) => fence.forget(worker)));
		const texts = (this.texts = openFileTexts(db, onRollback));
		const payloads = (this.payloads = openPayloads(db, texts));
		const chunks = (this.chunks = openChunkRows(db, reservations, onRollback));
		const parts = { queues, records, attempts, payloads, chunks };
		this.deliveries = openDeliveries(db, texts);
		const transitions = (this.transitions = new Transitions<Row>({
			...parts,
			deliveries: this.deliveries,
			signal: (each) => signals.add(each),
		}));
		const purge = (this.purge = openPurge(queues, records, attempts, payloads, chunks));
		this.due = openDue(db, records, transitions, purge, horizon);
		this.views = openViews<Row>({ ...parts, transitions });
		this.live = openLive(records);
		this.idempotency = openIdempotencyKeys(db, queues);
		this.#beginning = db.prepare("BEGIN IMMEDIATE");
		this.#committing = db.prepare("COMMIT");
	}

	waiting({ endpoint, now, most }: { endpoint: string; now: number; most: number }): number {
		this.due.freshen(now);
		const queue = this.queues.find(endpoint);
		if (!queue) return 0;
		if (queue.counts.inQueue > most) this.due.settleUntil(now, () => queue.counts.inQueue <= most);
		return queue.counts.inQueue;
	}

	storedBytes(endpoint: string): number {
		return this.queues.find(endpoint)?.storedBytes ?? 0;
	}

	/** No other server shares the store. */
	notifyOthers(): void {}

	begin(): void {
		const isBack = this.db.identity.admit();
		this.#beginning.run();
		this.signals.begin();
		this.#undo = [];
		this.due.begin();
		// Signals of commits that could not be confirmed were dropped.
		if (isBack) this.signals.add({ kind: "lost" });
	}

	commit(): void {
		this.records.flush();
		this.queues.flush();
		this.#committing.run();
	}

	/** T9. Throws without a rollback: the transaction is committed. */
	confirm(): void {
		try {
			this.db.identity.confirm();
		} catch (error) {
			this.signals.drop();
			throw error;
		}
	}

	/** T5; R1, R5, R6, R7, R8. */
	rollback(): void {
		if (this.db.inTransaction) this.db.exec("ROLLBACK");
		this.signals.drop();
		for (const restore of this.#undo.toReversed()) restore();
		this.horizon.set(Number.NEGATIVE_INFINITY);
		this.fence.reset();
		this.queues.reload();
		this.records.reload();
	}

	transaction<T>(work: () => T): T {
		this.begin();
		try {
			const result = work();
			this.commit();
			return result;
		} catch (error) {
			this.rollback();
			throw error;
		}
	}
}

class Signals {
	#signals: Signal[] = [];
	/** Signals before the open transaction. */
	#before = 0;
	#delivery = false;

	begin(): void {
		this.#before = this.#signals.length;
		this.#delivery = false;
	}

	/** Sent unless the transaction fails; of `delivery` one at most. */
	add(signal: Signal): void {
		if (signal.kind === "delivery") {
			if (this.#delivery) return;
			this.#delivery = true;
		}
		this.#signals.push(signal);
	}

	drop(): void {
		this.#signals.length = this.#before;
	}

	take(): Signal[] {
		const taken = this.#signals;
		if (taken.length > 0) this.#signals = [];
		return taken;
	}
}

function openIdempotencyKeys(db: Database, queues: Queues) {
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

export function openLive(records: Records) {
	const waiting = records.prepare(
		`SELECT seq FROM jobs WHERE queue = ? AND low_priority IN (0, 1) AND state = '${WAITING}'
			AND rank > ? AND rank < ? LIMIT ?`,
	);
	// `+queue` forces the index of running jobs: the queue may have millions of rows.
	const running = records.prepare(`SELECT seq FROM jobs WHERE state = '${RUNNING}' AND +queue = ? LIMIT ?`);

	return {
		/** Returns at most `limit` live jobs, in no order. */
		some(queue: Queue, limit: number): number[] {
			const found: number[] = [];
			if (queue.counts.inProgress > 0) found.push(...running.all(queue.number, limit).map(([seq]) => Number(seq)));
			for (const { after, before } of queue.counts.inQueue > 0 ? unpurged(queue) : []) {
				found.push(...waiting.all(queue.number, after, before, limit - found.length).map(([seq]) => Number(seq)));
			}
			return found;
		},
	};
}
