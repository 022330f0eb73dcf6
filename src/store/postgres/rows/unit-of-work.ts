/** Everything that the operations of one transaction use. */
import type { Attempt } from "../../../core/job.ts";
import type { TransitionStep } from "../../../core/job-transitions.ts";
import type { NewDelivery } from "../../../core/delivery.ts";
import { openTransitions, signalsOf } from "../../apply-transition.ts";
import type { Reservation, WorkerKey } from "../../operations/unit-of-work.ts";
import type { Signal } from "../../contract/store.ts";
import { openViews } from "../../views.ts";
import type { SessionLiveness } from "./session-liveness.ts";
import { openAttempts } from "./attempts.ts";
import { openChunkRows } from "./chunk-rows.ts";
import { eraseDeliveries, insertDeliveries } from "./deliveries.ts";
import { openDue } from "./due.ts";
import { openIdempotencyKeys } from "./idempotency.ts";
import type { RankAllocator } from "./rank-allocator.ts";
import type { QueueMemories } from "./queue-memories.ts";
import { openQueues } from "./queues.ts";
import { openRecords } from "./job-records.ts";
import type { Row } from "./row.ts";
import type { Runner } from "../connection/statement.ts";
import { openPayloads } from "./payloads.ts";

/** State of this server that outlives transactions. */
export interface ServerMemory {
	queueMemories: QueueMemories;
	ranks: RankAllocator;
	/** This server's session; its end frees its readers' reservations. */
	session: number;
	/** Which sessions of others are over. */
	sessions: SessionLiveness;
}

export type UnitOfWork = ReturnType<typeof openUnitOfWork>;

/** `slot`: count slot of the connection. */
export function openUnitOfWork({ run, server, slot }: { run: Runner["run"]; server: ServerMemory; slot: number }) {
	const own: Signal[] = [];
	const others: Signal[] = [];
	const delivered: NewDelivery[] = [];
	const erased: { endpoint: string; id: string }[] = [];

	/** Signals to this server's listeners what their answers do not contain. */
	function signal(each: Signal): void {
		if (each.kind !== "delivery" || !own.some(({ kind }) => kind === "delivery")) own.push(each);
	}

	function notifyOthers(each: Signal): void {
		if (each.kind !== "delivery" || !others.some(({ kind }) => kind === "delivery")) others.push(each);
	}

	const queues = openQueues({ run, memories: server.queueMemories, places: server.ranks, slot });
	const attempts = openAttempts({ run });
	const payloads = openPayloads({ run });
	const chunks = openChunkRows({ run, session: server.session, sessions: server.sessions });
	const idempotency = openIdempotencyKeys({ run });
	const records = openRecords({ run, queues, attempts, payloads });
	const deliveries = {
		add(delivery: NewDelivery): void {
			delivered.push(delivery);
			notifyOthers({ kind: "delivery" });
		},
		erase({ endpoint, id }: { endpoint: string; id: string }): void {
			erased.push({ endpoint, id });
		},
	};
	// Only the server that noticed the loss of a worker needs its id.
	const written = (step: TransitionStep): void =>
		signalsOf(step).forEach((each) => notifyOthers(each.kind === "queued" ? { ...each, worker: undefined } : each));
	const transitions = openTransitions<Row>({
		queues,
		records,
		attempts,
		payloads,
		chunks,
		deliveries,
		signal,
		written,
	});
	const due = openDue({ queues, records, transitions, flush });

	async function flush(): Promise<void> {
		const writes = [records, attempts, chunks, idempotency, queues].flatMap((part) => part.flush());
		payloads.written();
		writes.push(insertDeliveries(run, delivered.splice(0)));
		// Queued behind the inserts on the same connection: a job may end and be erased in one step.
		writes.push(eraseDeliveries(run, erased.splice(0)));
		await Promise.all(writes);
	}

	const views = openViews<Row>({
		attempts,
		payloads: {
			result: payloads.result,
			error: (row) => payloads.result(row).error,
			input: () => undefined,
		},
		chunks,
		transitions,
	});

	return {
		run,
		queues,
		records,
		payloads,
		idempotency,
		transitions,
		views,
		due,
		signal,
		notifyOthers,
		server,

		attempts: {
			...attempts,
			/** Old attempts that the worker may still run. */
			openOf: ({ endpoint, worker }: WorkerKey): { row: Row; past: Attempt }[] =>
				records.of(endpoint).flatMap((row) => attempts.openOf(row, worker).map((past) => ({ row, past }))),
		},

		chunks: {
			...chunks,
			reserve: (row: Row, reservation: Reservation): Row =>
				records.update(row, { reader: { ...reservation, session: server.session } }),
			release: (row: Row): Row => records.update(row, { reader: undefined }),
		},

		/** Number of waiting jobs; the operation's follow-up has settled due ones. */
		waiting: ({ endpoint }: { endpoint: string }): number => queues.of(endpoint).counts.inQueue,

		storedBytes: (endpoint: string): number => queues.of(endpoint).storedBytes,

		/** Writes all changes since the last flush in one round trip. */
		flush,

		/**
		 * Signals to send after the commit. A job claimed in the same transaction is not signalled as
		 * waiting.
		 */
		signals: {
			own,
			get others(): Signal[] {
				return others.filter((each) => each.kind !== "queued" || records.waits(each));
			},
		},

		/** Call when the transaction fails. */
		undo: queues.undo,
	};
}
