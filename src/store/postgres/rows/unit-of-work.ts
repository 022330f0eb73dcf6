/** Everything the operations of one transaction work on. */
import type { TransitionStep } from "../../../core/job-transitions.ts";
import type { NewDelivery } from "../../../core/delivery.ts";
import { openTransitions, signalsOf } from "../../apply-transition.ts";
import type { Signal } from "../../contract/store.ts";
import type { SessionLiveness } from "./session-liveness.ts";
import { openAttempts } from "./attempts.ts";
import { openChunkRows } from "./chunk-rows.ts";
import { insertDeliveries } from "./deliveries.ts";
import { openDue } from "./due.ts";
import { openIdempotencyKeys } from "./idempotency.ts";
import type { RankAllocator } from "./rank-allocator.ts";
import { openQueues } from "./queues.ts";
import type { QueueMemories } from "./queues.ts";
import { openRecords } from "./job-records.ts";
import type { Row } from "./row.ts";
import type { Runner } from "../connection/statement.ts";
import { openPayloads } from "./payloads.ts";

/** What outlives transactions on this server. */
export interface ServerMemory {
	memories: QueueMemories;
	places: RankAllocator;
	/** This server's session, whose end frees what its readers have reserved. */
	session: number;
	/** Which sessions of others are over. */
	absences: SessionLiveness;
}

export type UnitOfWork = ReturnType<typeof openUnitOfWork>;

/** The parts of one transaction. `slot`: where its connection counts. */
export function openUnitOfWork({
	run,
	kept,
	slot,
}: {
	run: Runner["run"];
	kept: ServerMemory;
	slot: number;
}) {
	const own: Signal[] = [];
	const others: Signal[] = [];
	const delivered: NewDelivery[] = [];

	/** Tells this server's listeners of what their own calls do not tell them. */
	function signal(told: Signal): void {
		if (told.kind !== "delivery" || !own.some(({ kind }) => kind === "delivery")) own.push(told);
	}

	/** Tells other servers. */
	function tellOthers(told: Signal): void {
		if (told.kind !== "delivery" || !others.some(({ kind }) => kind === "delivery"))
			others.push(told);
	}

	const queues = openQueues({ run, memories: kept.memories, places: kept.places, slot });
	const attempts = openAttempts({ run });
	const texts = openPayloads({ run });
	const chunks = openChunkRows({ run });
	const idempotency = openIdempotencyKeys({ run });
	const records = openRecords({ run, queues, attempts, texts });
	const deliveries = {
		add(delivery: NewDelivery): void {
			delivered.push(delivery);
			tellOthers({ kind: "delivery" });
		},
	};
	// Whose return it was only matters where it was noticed.
	const written = (step: TransitionStep): void =>
		signalsOf(step).forEach((told) =>
			tellOthers(told.kind === "queued" ? { ...told, worker: undefined } : told),
		);
	const moves = openTransitions<Row>({
		queues,
		records,
		attempts,
		texts,
		chunks,
		deliveries,
		signal,
		written,
	});
	const due = openDue({ queues, records, moves, flush });

	async function flush(): Promise<void> {
		const writes = [records, attempts, chunks, idempotency, queues].flatMap((part) => part.flush());
		texts.written();
		writes.push(insertDeliveries(run, delivered.splice(0)));
		await Promise.all(writes);
	}

	return {
		run,
		queues,
		records,
		attempts,
		texts,
		chunks,
		idempotency,
		moves,
		due,
		signal,
		tellOthers,
		kept,

		/** Writes all that changed since the last time, in one round trip. */
		flush,

		/**
		 * Hints for this server's listeners, and for other servers, once the transaction is through. Of
		 * a job that was handed out in the same transaction nobody need know that it waited.
		 */
		signals: {
			own,
			get others(): Signal[] {
				return others.filter((told) => told.kind !== "queued" || records.waits(told));
			},
		},

		/** The transaction failed: what this server remembers is as before. */
		undo: queues.undo,
	};
}
