/**
 * Sends operations in batches: at the end of this turn of the event loop, or once {@link EARLY_OPS} are waiting. While
 * the thread runs a batch, the next ones gather here (decision 0003). T1 to T11: see README.md.
 */
import type { Worker } from "node:worker_threads";
import { newHistogram, observe } from "../../../lib/histogram.ts";
import type { JsonText } from "../../../lib/json/json-text.ts";
import { type Signal, type Store, StoreUnavailable } from "../../contract/store.ts";
import { OP_NAMES, OPERATIONS, storeOf, weightOf } from "../../operations/table.ts";
import type { Batch, Failure, Reply, SegmentBytes } from "./messages.ts";
import type { Answer, OpName, Query } from "../../operations/operation.ts";
import { CODECS } from "./codecs.ts";
import { NO_TURN, type TurnWriter } from "./turn.ts";

/** Characters of payload in one batch, and in all batches at the thread (T8). */
const MOST_WEIGHT = 32_000_000;

/** Sent before the end of the turn: the thread runs them while this side reads more requests. Each message wakes it. */
const EARLY_OPS = 32;

const charactersOf = (text: JsonText): number => (typeof text === "string" ? text.length : 0);

interface Waiter {
	number: number;
	q: unknown;
	first: boolean;
	resolve: (answer: unknown) => void;
	reject: (error: Error) => void;
}

interface PendingBatch {
	message: unknown[];
	waiters: Waiter[];
	weight: number;
}

const NUMBERS = new Map(OP_NAMES.map((name, number) => [name, number]));

export function errorFrom({ why, unsure, message }: Omit<Failure, "index">): Error {
	return why === undefined ? new Error(message) : new StoreUnavailable(why, message, { unsure: unsure === true });
}

function answer({ number, q, resolve, reject }: Waiter, packed: unknown, failure?: Failure): void {
	if (failure) return reject(errorFrom(failure));
	try {
		resolve(CODECS[number]?.unpackAnswer(packed, q));
	} catch (error) {
		reject(error as Error);
	}
}

export class DatabaseClient {
	readonly store: Store = {
		...storeOf((name) => (q) => this.#call(name, q)),
		onSignal: (listener) => {
			const own = (signal: Signal): void => listener(signal);
			this.#listeners.add(own);
			return () => this.#listeners.delete(own);
		},
		load: () => this.#load,
		close: () => this.#close(),
	};
	readonly #thread;
	readonly #onSegments;
	readonly #endOfTurn;
	readonly #turn;
	readonly #load = { commitMs: newHistogram(), commitSizes: newHistogram() };
	readonly #listeners = new Set<(signal: Signal) => void>();
	/** Only the last accepts more operations. */
	readonly #waiting: PendingBatch[] = [];
	readonly #sent: PendingBatch[] = [];
	#sentWeight = 0;
	#scheduled = false;
	#closed: StoreUnavailable | undefined;
	#idle: (() => void) | undefined;
	readonly #exited;

	/**
	 * `onSegments` runs before the answers of the same commit. `endOfTurn` runs what follows this turn of the event loop.
	 */
	constructor(
		thread: Worker,
		onSegments: (changes: readonly SegmentBytes[]) => void,
		endOfTurn: (run: () => void) => void = setImmediate,
		turn: TurnWriter = NO_TURN,
	) {
		this.#thread = thread;
		this.#onSegments = onSegments;
		this.#endOfTurn = endOfTurn;
		this.#turn = turn;
		thread.on("message", (reply: Reply) => this.#receive(reply));
		thread.on("error", (error) =>
			this.#end(
				// A commit in flight may be on disk.
				new StoreUnavailable("closed", `The database thread failed: ${error.message}`, {
					unsure: true,
					cause: error,
				}),
			),
		);
		this.#exited = new Promise<void>((resolve) => {
			thread.on("exit", () => {
				this.#end(new StoreUnavailable("closed", "The store is closed."));
				resolve();
			});
		});
	}

	#call<N extends OpName>(name: N, q: Query<N>): Promise<Answer<N>> {
		const weight = weightOf(name, q, charactersOf);
		const number = NUMBERS.get(name) ?? -1;
		return new Promise((resolve, reject) => {
			if (this.#closed) return reject(this.#closed);
			// First: it throws for a query that cannot be sent.
			const packed = CODECS[number]?.pack(q);
			const batch = this.#gather(weight);
			batch.weight += weight;
			batch.message.push(number, packed);
			batch.waiters.push({
				number,
				q,
				first: OPERATIONS[name].kind === "claim",
				resolve: resolve as (answer: unknown) => void,
				reject,
			});
			this.#schedule();
			if (batch.waiters.length >= EARLY_OPS) this.#send();
		});
	}

	async #close(): Promise<void> {
		if (!this.#closed) {
			this.#closed = new StoreUnavailable("closed", "The store is closed.");
			if (!this.#isIdle()) await new Promise<void>((resolve) => (this.#idle = resolve));
			this.#thread.postMessage("close" satisfies Batch);
		}
		await this.#exited;
	}

	#isIdle(): boolean {
		return this.#sent.length === 0 && this.#waiting.length === 0;
	}

	#gather(weight: number): PendingBatch {
		const last = this.#waiting.at(-1);
		if (last && last.weight + weight <= MOST_WEIGHT) return last;
		const batch: PendingBatch = { message: [], waiters: [], weight: 0 };
		this.#waiting.push(batch);
		return batch;
	}

	#schedule(): void {
		if (this.#scheduled || this.#waiting.length === 0) return;
		this.#scheduled = true;
		this.#turn.begin();
		this.#endOfTurn(() => {
			this.#scheduled = false;
			this.#send();
			this.#turn.end();
		});
	}

	/** A batch that cannot be sent is answered here (T7). */
	#send(): void {
		for (
			let batch = this.#waiting[0];
			batch && (this.#sent.length === 0 || this.#sentWeight + batch.weight <= MOST_WEIGHT);
			batch = this.#waiting[0]
		) {
			this.#waiting.shift();
			try {
				this.#thread.postMessage(batch.message satisfies Batch);
				this.#turn.messageSent();
				this.#sent.push(batch);
				this.#sentWeight += batch.weight;
			} catch (cause) {
				const error = new Error(`The store cannot be asked: ${(cause as Error).message}`, { cause });
				for (const { reject } of batch.waiters) reject(error);
			}
		}
		if (this.#isIdle()) this.#idle?.();
	}

	#receive({ batches, commitMs, answers, failures, signals, segments }: Reply): void {
		// T2
		const answered = this.#sent.splice(0, batches);
		for (const { weight } of answered) this.#sentWeight -= weight;
		const waiters = answered.flatMap((batch) => batch.waiters);
		if (commitMs !== undefined) {
			observe(this.#load.commitMs, commitMs);
			observe(this.#load.commitSizes, waiters.length);
		}
		// Before the callers continue: the thread works meanwhile.
		if (!this.#scheduled) this.#send();
		if (segments.length > 0) this.#onSegments(segments);
		const failed = new Map(failures.map((failure) => [failure.index, failure]));
		for (const signal of signals) for (const listener of this.#listeners) listener(signal);
		// Claims first: a worker that gets jobs asks again while the other answers are sent, and its next claim shares a
		// commit with the operations that those cause.
		for (const first of [true, false])
			for (const [index, waiter] of waiters.entries())
				if (waiter.first === first) answer(waiter, answers[index], failed.get(index));
		this.#schedule();
		if (this.#isIdle()) this.#idle?.();
	}

	/** The thread has ended, by `close` or by a fault (T7). */
	#end(reason: StoreUnavailable): void {
		this.#closed ??= reason;
		const left = [...this.#sent.splice(0), ...this.#waiting.splice(0)].flatMap(({ waiters }) => waiters);
		for (const { reject } of left) reject(reason);
		this.#idle?.();
	}
}
