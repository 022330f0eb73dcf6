/** Changes are written at the end of the transaction, signals are sent after its commit. */
import type { Attempt } from "../../../core/jobs/job.ts";
import type { TransitionStep } from "../../../core/jobs/job-transitions.ts";
import type { NewDelivery } from "../../../core/webhooks.ts";
import { Transitions, signalsOf } from "../../apply-transition.ts";
import type { JobKey, Reservation, WorkerKey } from "../../operations/unit-of-work.ts";
import type { Signal } from "../../contract/store.ts";
import { openViews } from "../../views.ts";
import type { SessionLiveness } from "../connection/session-liveness.ts";
import { openAttempts } from "./attempts.ts";
import { openChunkRows } from "./chunk-rows.ts";
import { eraseDeliveries, insertDeliveries } from "./deliveries.ts";
import { openDue } from "./due.ts";
import { openIdempotencyKeys } from "./idempotency.ts";
import type { RankAllocator, QueueMemories } from "./queue-memories.ts";
import { Queues } from "./queues.ts";
import { Records } from "./job-records.ts";
import type { Row } from "./row.ts";
import type { Runner } from "../connection/statement.ts";
import type { Work } from "../connection/transaction.ts";
import { openPayloads } from "./payloads.ts";

export interface ServerMemory {
	queueMemories: QueueMemories;
	ranks: RankAllocator;
	/** Its end frees the reservations of this server's readers. */
	session: number;
	sessions: SessionLiveness;
}

export type UnitOfWork = ReturnType<typeof openUnitOfWork>;

/** `slot`: count slot of the connection. */
function openUnitOfWork({ run, server, slot }: { run: Runner["run"]; server: ServerMemory; slot: number }) {
	const own: Signal[] = [];
	const others: Signal[] = [];
	const delivered: NewDelivery[] = [];
	const erased: JobKey[] = [];

	const addTo =
		(signals: Signal[]) =>
		(each: Signal): void => {
			if (each.kind !== "delivery" || !signals.some(({ kind }) => kind === "delivery")) signals.push(each);
		};
	/** Reports to this server's listeners what their answers do not contain. */
	const signal = addTo(own);
	const notifyOthers = addTo(others);

	const queues = new Queues({ run, memories: server.queueMemories, places: server.ranks, slot });
	const attempts = openAttempts(run);
	const payloads = openPayloads(run);
	const chunks = openChunkRows(run, server);
	const idempotency = openIdempotencyKeys(run);
	const records = new Records({ run, queues, attempts, payloads });
	const deliveries = {
		add(delivery: NewDelivery): void {
			delivered.push(delivery);
			notifyOthers({ kind: "delivery" });
		},
		erase: ({ endpoint, id }: JobKey): void => void erased.push({ endpoint, id }),
	};
	// Only the server that noticed a loss records it; a worker that is silent is known to the servers that it calls.
	const written = (step: TransitionStep): void =>
		signalsOf(step).forEach((each) => notifyOthers(each.kind === "queued" ? { ...each, worker: undefined } : each));
	const transitions = new Transitions<Row>({
		queues,
		records,
		attempts,
		payloads,
		chunks,
		deliveries,
		signal,
		written,
	});
	const due = openDue(queues, records, transitions, flush);

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
			openOf: ({ endpoint, worker }: WorkerKey): { row: Row; past: Attempt }[] =>
				records.of(endpoint).flatMap((row) => attempts.openOf(row, worker).map((past) => ({ row, past }))),
		},

		chunks: {
			...chunks,
			reserve: (row: Row, reservation: Reservation): Row =>
				records.update(row, { reader: { ...reservation, session: server.session } }),
			release: (row: Row): Row => records.update(row, { reader: undefined }),
		},

		/** The operation's follow-up has settled due jobs. */
		waiting: ({ endpoint }: { endpoint: string }): number => queues.of(endpoint).counts.inQueue,

		storedBytes: (endpoint: string): number => queues.of(endpoint).storedBytes,

		flush,

		/** Call after the commit. A job claimed in the same transaction is not signalled as waiting. */
		signals: {
			own,
			get others(): Signal[] {
				return others.filter((each) => each.kind !== "queued" || records.waits(each));
			},
		},

		undo: () => queues.undo(),
	};
}

/** Sends signals of what was committed: to the listeners of this server, and to the other servers. */
export interface Notify {
	own(signals: readonly Signal[]): void;
	others(signals: readonly Signal[]): void;
}

/** Runs `work`, possibly several times, each time with a new unit. Throws as `transaction` does. */
export async function runUnitOfWork<T>(
	q: { transact: (work: Work<T>) => Promise<T>; slot: () => number; server: ServerMemory; notify: Notify },
	work: (unit: UnitOfWork, runner: Runner) => Promise<T>,
): Promise<T> {
	let unit: UnitOfWork | undefined;
	try {
		const result = await q.transact(async (runner, ending) => {
			unit?.undo();
			unit = openUnitOfWork({ run: runner.run, server: q.server, slot: q.slot() });
			const done = await work(unit, runner);
			ending.writes(unit.flush());
			return done;
		});
		if (unit) {
			q.notify.own(unit.signals.own);
			q.notify.others(unit.signals.others);
		}
		return result;
	} catch (error) {
		unit?.undo();
		throw error;
	}
}
