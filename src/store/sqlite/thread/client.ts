/**
 * Client of the database thread. Operations are sent in batches: at the end of this turn of the
 * event loop, or once {@link EARLY_OPS} are waiting. While the thread runs a batch, the next ones
 * gather here; it makes one commit for all that have arrived (decision 0003). T1 to T11: see
 * README.md.
 */
import type { Worker } from "node:worker_threads";
import type { JsonText } from "../../../core/json/json-text.ts";
import { type Signal, type Store, StoreUnavailable } from "../../contract/store.ts";
import { OP_NAMES, OPERATIONS, storeOf, weightOf } from "../../operations/table.ts";
import type { Batch, Failure, Reply, SegmentBytes } from "./messages.ts";
import type { Answer, OpName, Query } from "../../operations/operation.ts";
import { CODECS } from "./codecs.ts";
import { NO_TURN, type TurnWriter } from "./turn.ts";

/** Maximum characters of payload in one batch, and in all batches at the thread (T8). */
const MOST_WEIGHT = 32_000_000;

/**
 * This many operations are sent before the end of the turn: the thread runs them while this side
 * reads more requests. Each message wakes it.
 */
const EARLY_OPS = 32;

/** Returns the length of a text in memory: a large one is in a payload file. */
const charactersOf = (text: JsonText): number => (typeof text === "string" ? text.length : 0);

interface Waiter {
	number: number;
	q: unknown;
	/** Answered before the others. */
	first: boolean;
	resolve: (answer: unknown) => void;
	reject: (error: Error) => void;
}

/** A batch and its callers. */
interface PendingBatch {
	message: unknown[];
	waiters: Waiter[];
	weight: number;
}

/** The error of a failure in the thread. */
export function errorFrom({ why, unsure, message }: Omit<Failure, "index">): Error {
	return why === undefined ? new Error(message) : new StoreUnavailable(why, message, { unsure: unsure === true });
}

/**
 * The {@link Store} over a thread that has reported that it is ready. `onSegments` gets the changes of
 * payload files before the answers of their commit. `endOfTurn`: runs what follows this turn of the
 * event loop. `turn`: what the thread may wait for (T11).
 */
export function connect(
	thread: Worker,
	onSegments: (changes: readonly SegmentBytes[]) => void,
	endOfTurn: (run: () => void) => void = setImmediate,
	turn: TurnWriter = NO_TURN,
): Store {
	const listeners = new Set<(signal: Signal) => void>();
	const numbers = new Map(OP_NAMES.map((name, number) => [name, number]));
	/** Unsent batches; only the last accepts more operations. */
	const waiting: PendingBatch[] = [];
	/** Batches at the thread, and their total weight. */
	const sent: PendingBatch[] = [];
	let sentWeight = 0;
	let scheduled = false;
	let closed: StoreUnavailable | undefined;
	let idle: (() => void) | undefined;

	function schedule(): void {
		if (scheduled || waiting.length === 0) return;
		scheduled = true;
		turn.begin();
		endOfTurn(() => {
			scheduled = false;
			send();
			turn.end();
		});
	}

	/** Sends what fits. A batch that cannot be sent is answered here (T7). */
	function send(): void {
		for (
			let batch = waiting[0];
			batch && (sent.length === 0 || sentWeight + batch.weight <= MOST_WEIGHT);
			batch = waiting[0]
		) {
			waiting.shift();
			try {
				thread.postMessage(batch.message satisfies Batch);
				turn.messageSent();
				sent.push(batch);
				sentWeight += batch.weight;
			} catch (cause) {
				const error = new Error(`The store cannot be asked: ${(cause as Error).message}`, {
					cause,
				});
				for (const { reject } of batch.waiters) reject(error);
			}
		}
		if (sent.length === 0 && waiting.length === 0) idle?.();
	}

	function gather(weight: number): PendingBatch {
		const last = waiting.at(-1);
		if (last && last.weight + weight <= MOST_WEIGHT) return last;
		const batch: PendingBatch = { message: [], waiters: [], weight: 0 };
		waiting.push(batch);
		return batch;
	}

	function call<N extends OpName>(name: N, q: Query<N>): Promise<Answer<N>> {
		const weight = weightOf(name, q, charactersOf);
		const number = numbers.get(name) ?? -1;
		return new Promise((resolve, reject) => {
			if (closed) return reject(closed);
			// First: it throws for a query that cannot be sent.
			const packed = CODECS[number]?.pack(q);
			const batch = gather(weight);
			batch.weight += weight;
			batch.message.push(number, packed);
			batch.waiters.push({
				number,
				q,
				first: OPERATIONS[name].kind === "claim",
				resolve: resolve as (answer: unknown) => void,
				reject,
			});
			schedule();
			if (batch.waiters.length >= EARLY_OPS) send();
		});
	}

	function answer({ number, q, resolve, reject }: Waiter, packed: unknown, failure?: Failure): void {
		if (failure) return reject(errorFrom(failure));
		try {
			resolve(CODECS[number]?.unpackAnswer(packed, q));
		} catch (error) {
			reject(error as Error);
		}
	}

	thread.on("message", ({ batches, answers, failures, signals, segments }: Reply) => {
		// T2
		const answered = sent.splice(0, batches);
		for (const { weight } of answered) sentWeight -= weight;
		const waiters = answered.flatMap((batch) => batch.waiters);
		// Before the callers continue: the thread works meanwhile.
		if (!scheduled) send();
		if (segments.length > 0) onSegments(segments);
		const failed = new Map(failures.map((failure) => [failure.index, failure]));
		for (const signal of signals) for (const listener of listeners) listener(signal);
		// Claims first: a worker that gets jobs asks again while the other answers are sent, and its
		// next claim shares a commit with the operations that those cause.
		for (const first of [true, false])
			for (const [index, waiter] of waiters.entries())
				if (waiter.first === first) answer(waiter, answers[index], failed.get(index));
		schedule();
		if (sent.length === 0 && waiting.length === 0) idle?.();
	});

	/** The thread has ended, by `close` or by a fault: answers every caller (T7). */
	function end(reason: StoreUnavailable): void {
		closed ??= reason;
		const left = [...sent.splice(0), ...waiting.splice(0)].flatMap(({ waiters }) => waiters);
		for (const { reject } of left) reject(reason);
		idle?.();
	}
	thread.on("error", (error) =>
		end(
			// A commit in flight may be on disk.
			new StoreUnavailable("closed", `The database thread failed: ${error.message}`, {
				unsure: true,
				cause: error,
			}),
		),
	);
	const exited = new Promise<void>((resolve) => {
		thread.on("exit", () => {
			end(new StoreUnavailable("closed", "The store is closed."));
			resolve();
		});
	});

	return {
		...storeOf((name) => (q) => call(name, q)),
		onSignal(listener) {
			const own = (signal: Signal): void => listener(signal);
			listeners.add(own);
			return () => listeners.delete(own);
		},
		async close() {
			if (!closed) {
				closed = new StoreUnavailable("closed", "The store is closed.");
				if (sent.length > 0 || waiting.length > 0) await new Promise<void>((resolve) => (idle = resolve));
				thread.postMessage("close" satisfies Batch);
			}
			await exited;
		},
	};
}
