/** What the operations of the database thread work on, built once the schema is ready. */
import type { Reservation } from "../../operations/unit-of-work.ts";
import type { Signal } from "../../contract/store.ts";
import { openAttempts } from "./attempts.ts";
import { openChunkRows } from "./chunk-rows.ts";
import type { Database } from "../database.ts";
import { openDeliveries } from "./deliveries.ts";
import { openDue, openHorizon } from "./due.ts";
import { openFence } from "./fence.ts";
import { openFileTexts } from "./file-texts.ts";
import { openIdempotencyKeys } from "./idempotency.ts";
import { openLive } from "../live.ts";
import { openTransitions } from "../../apply-transition.ts";
import { openPurge } from "../purge.ts";
import { openQueues } from "./queues.ts";
import { openRecords } from "./job-records.ts";
import type { Row } from "./row.ts";
import { openPayloads } from "./payloads.ts";
import { openViews } from "../../views.ts";

export type UnitOfWork = ReturnType<typeof openUnitOfWork>;

/** Tests pass a small `keptRows`, and `reservations` that outlive one unit. */
export function openUnitOfWork(
	db: Database,
	{ keptRows, reservations = new Map() }: { keptRows?: number; reservations?: Map<number, Reservation> } = {},
) {
	let signals: Signal[] = [];
	/** Belongs to the open transaction: the number of signals before it, and what restores the memory. */
	let signalsBefore = 0;
	let undo: (() => void)[] = [];

	let deliverySignalled = false;

	/**
	 * Sends a signal with the answers of this batch unless its transaction fails; at most one of
	 * `delivery`.
	 */
	function signal(each: Signal): void {
		if (each.kind === "delivery") {
			if (deliverySignalled) return;
			deliverySignalled = true;
		}
		signals.push(each);
	}

	const horizon = openHorizon();
	const queues = openQueues(db);
	const fence = openFence();
	const records = openRecords({ db, queues, keptRows, noted: (dueAt) => horizon.note(dueAt) });
	const attempts = openAttempts({ db, records, ended: (worker) => fence.forget(worker) });
	const onRollback = (restore: () => void): void => void undo.push(restore);
	const texts = openFileTexts({ db, onRollback });
	const payloads = openPayloads({ db, texts });
	const chunks = openChunkRows({ db, reservations, onRollback });
	const deliveries = openDeliveries({ db, texts });
	const transitions = openTransitions<Row>({ queues, records, attempts, payloads, chunks, deliveries, signal });
	const purge = openPurge({ queues, records, attempts, payloads, chunks });
	const due = openDue({ db, records, transitions, purge, horizon });
	const views = openViews<Row>({ attempts, payloads, chunks, transitions });
	const live = openLive(records);
	const idempotency = openIdempotencyKeys({ db, queues });

	/** Same as in the interface of operations. */
	function waiting({ endpoint, now, most }: { endpoint: string; now: number; most: number }) {
		due.freshen(now);
		const queue = queues.find(endpoint);
		if (!queue) return 0;
		if (queue.counts.inQueue > most) due.settleUntil(now, () => queue.counts.inQueue <= most);
		return queue.counts.inQueue;
	}

	const beginning = db.prepare("BEGIN IMMEDIATE");
	const committing = db.prepare("COMMIT");

	function begin(): void {
		const isBack = db.identity.admit();
		beginning.run();
		signalsBefore = signals.length;
		undo = [];
		deliverySignalled = false;
		due.begin();
		// Signals of commits that could not be confirmed were dropped.
		if (isBack) signal({ kind: "lost" });
	}

	function commit(): void {
		records.flush();
		queues.flush();
		committing.run();
	}

	/** T9. Throws without a rollback: the transaction is committed. */
	function confirm(): void {
		try {
			db.identity.confirm();
		} catch (error) {
			signals.length = signalsBefore;
			throw error;
		}
	}

	/** T5; R1, R5, R6, R7, R8. */
	function rollback(): void {
		if (db.inTransaction) db.exec("ROLLBACK");
		signals.length = signalsBefore;
		for (const restore of undo.toReversed()) restore();
		horizon.set(Number.NEGATIVE_INFINITY);
		fence.reset();
		queues.reload();
		records.reload();
	}

	return {
		db,
		horizon,
		queues,
		fence,
		records,
		attempts,
		payloads,
		chunks,
		transitions,
		purge,
		due,
		views,
		live,
		idempotency,
		deliveries,
		texts,
		signal,
		waiting,
		storedBytes: (endpoint: string): number => queues.find(endpoint)?.storedBytes ?? 0,
		/** No other server shares the store. */
		notifyOthers(): void {},

		/**
		 * Begins a transaction. End it with `commit` and `confirm`, or with `rollback` if a step or the
		 * commit has thrown: that restores the memory and drops the signals.
		 */
		begin,
		commit,
		confirm,
		rollback,

		/** Runs `work` in its own transaction. */
		transaction<T>(work: () => T): T {
			begin();
			try {
				const result = work();
				commit();
				return result;
			} catch (error) {
				rollback();
				throw error;
			}
		},

		/** The signals since the last call. */
		takeSignals(): Signal[] {
			if (signals.length === 0) return signals;
			const taken = signals;
			signals = [];
			return taken;
		},
	};
}
