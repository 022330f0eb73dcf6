/**
 * The service's side of the database thread. Operations go out in batches, with the end of this
 * turn of the event loop or when some have gathered. The thread works on a batch while the next are
 * gathered here, and makes one commit, and one flush of the disk, for all that it got (decisions
 * 0021, 0023).
 */
import type { Worker } from "node:worker_threads";
import { LARGE_BYTES } from "../../../core/json/json-text.ts";
import { StoreUnavailable } from "../../store.ts";
import type { Signal, Store } from "../../store.ts";
import { OP_NAMES, OPS } from "../../operations.ts";
import type { Batch, Failure, Reply } from "./messages.ts";
import type { Answer, OpName, Query } from "../../operations.ts";
import type { TurnTeller } from "./commit-gate.ts";
import { CODECS, leavesWith, weightOf } from "./codecs.ts";

/** Most characters of payload in one batch, and in all that are at the thread. */
const MOST_WEIGHT = 32_000_000;

/**
 * So many operations do not wait for the end of the turn: the thread works on them while this side
 * reads on. More where it will wait for the end of the turn before it commits: each time it is
 * woken costs.
 */
const EARLY_OPS = 16;
const EARLY_OPS_PATIENT = 32;

interface Waiter {
	number: number;
	q: unknown;
	/** It is answered before others. */
	first: boolean;
	resolve: (answer: unknown) => void;
	reject: (error: Error) => void;
}

/** Operations that go to the thread together. */
interface Gathered {
	message: unknown[];
	waiters: Waiter[];
	weight: number;
	/** Buffers that leave with it. */
	leaving: Set<ArrayBuffer>;
}

/** The error that a failure in the thread stands for. */
export function errorFrom({ why, message }: Omit<Failure, "index">): Error {
	return why === undefined ? new Error(message) : new StoreUnavailable(why, message);
}

/** The {@link Store} over a thread that has said it is ready, and is told of our turns. */
export function connect(thread: Worker, turn: TurnTeller): Store {
	const listeners = new Set<(signal: Signal) => void>();
	const numbers = new Map(OP_NAMES.map((name, number) => [name, number]));
	/**
	 * Batches that wait, the last of them still open to more; and those at the thread, with their
	 * weight together.
	 */
	const waiting: Gathered[] = [];
	const under: Gathered[] = [];
	let weightUnder = 0;
	let earlyOps = EARLY_OPS;
	let scheduled = false;
	let closed: StoreUnavailable | undefined;
	let idle: (() => void) | undefined;

	function schedule(): void {
		if (scheduled || waiting.length === 0) return;
		scheduled = true;
		turn.begins();
		setImmediate(() => {
			scheduled = false;
			send();
			turn.ends();
		});
	}

	function send(): void {
		for (
			let batch = waiting[0];
			batch && (under.length === 0 || weightUnder + batch.weight <= MOST_WEIGHT);
			batch = waiting[0]
		) {
			waiting.shift();
			under.push(batch);
			weightUnder += batch.weight;
			thread.postMessage(batch.message satisfies Batch, [...batch.leaving]);
			turn.sent();
		}
	}

	function gather(weight: number): Gathered {
		const open = waiting.at(-1);
		if (open && open.weight + weight <= MOST_WEIGHT) return open;
		const fresh: Gathered = { message: [], waiters: [], weight: 0, leaving: new Set() };
		waiting.push(fresh);
		return fresh;
	}

	function call<N extends OpName>(name: N, q: Query<N>): Promise<Answer<N>> {
		const number = numbers.get(name) ?? -1;
		return new Promise((resolve, reject) => {
			if (closed) return reject(closed);
			const weight = weightOf(name, q);
			// First, since it throws for a query that cannot travel.
			const packed = CODECS[number]?.pack(q);
			const batch = gather(weight);
			batch.weight += weight;
			if (weight >= LARGE_BYTES)
				for (const buffer of leavesWith(name, q)) batch.leaving.add(buffer);
			batch.message.push(number, packed);
			batch.waiters.push({
				number,
				q,
				first: OPS[name] === "claim",
				resolve: resolve as (answer: unknown) => void,
				reject,
			});
			if (batch.waiters.length >= earlyOps) send();
			else schedule();
		});
	}

	thread.on("message", ({ batches, answers, failures, signals, patient }: Reply) => {
		earlyOps = patient ? EARLY_OPS_PATIENT : EARLY_OPS;
		const answered = under.splice(0, batches);
		for (const { weight } of answered) weightUnder -= weight;
		const waiters = answered.flatMap((batch) => batch.waiters);
		// Before the answers are acted on: the thread works meanwhile.
		if (!scheduled) send();
		for (const signal of signals) for (const listener of listeners) listener(signal);
		const answer = ({ number, q, resolve, reject }: Waiter, index: number): void => {
			const failure =
				failures.length === 0 ? undefined : failures.find((each) => each.index === index);
			if (failure) reject(errorFrom(failure));
			else resolve(CODECS[number]?.unpackAnswer(answers[index], q));
		};
		// A worker that gets jobs asks again while the other answers go out: its next claim shares the
		// commit of what those bring.
		for (const first of [true, false])
			for (const [index, waiter] of waiters.entries())
				if (waiter.first === first) answer(waiter, index);
		schedule();
		if (under.length === 0 && waiting.length === 0) idle?.();
	});

	/** The thread is gone, as it was told to or by a fault of its own: nothing waits for ever. */
	function end(reason: StoreUnavailable): void {
		closed ??= reason;
		const left = [...under.splice(0), ...waiting.splice(0)].flatMap(({ waiters }) => waiters);
		for (const { reject } of left) reject(reason);
		idle?.();
	}
	thread.on("error", (error) =>
		end(
			new StoreUnavailable("closed", `The database thread failed: ${error.message}`, {
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

	const op =
		<N extends OpName>(name: N) =>
		(q: Query<N>): Promise<Answer<N>> =>
			call(name, q);
	return {
		jobs: {
			insert: op("jobs.insert"),
			get: op("jobs.get"),
			counts: op("jobs.counts"),
			allCounts: op("jobs.allCounts"),
			waiting: op("jobs.waiting"),
			claim: op("jobs.claim"),
			report: op("jobs.report"),
			progress: op("jobs.progress"),
			move: op("jobs.move"),
			retain: op("jobs.retain"),
			purge: op("jobs.purge"),
			cancelAll: op("jobs.cancelAll"),
			list: op("jobs.list"),
			record: op("jobs.record"),
			settle: op("jobs.settle"),
			extendAll: op("jobs.extendAll"),
			running: () => call("jobs.running", undefined),
			unstopped: () => call("jobs.unstopped", undefined),
			attempts: op("jobs.attempts"),
		},
		chunks: {
			append: op("chunks.append"),
			read: op("chunks.read"),
			reserve: op("chunks.reserve"),
			deliver: op("chunks.deliver"),
		},
		endpoints: {
			put: op("endpoints.put"),
			list: () => call("endpoints.list", undefined),
			pause: op("endpoints.pause"),
			remove: op("endpoints.remove"),
			forget: op("endpoints.forget"),
		},
		workers: {
			put: op("workers.put"),
			list: () => call("workers.list", undefined),
			remove: op("workers.remove"),
			ping: op("workers.ping"),
			idle: op("workers.idle"),
			renew: op("workers.renew"),
		},
		tokens: { put: op("tokens.put"), find: op("tokens.find"), remove: op("tokens.remove") },
		keys: {
			insert: op("keys.insert"),
			find: op("keys.find"),
			list: () => call("keys.list", undefined),
			used: op("keys.used"),
			remove: op("keys.remove"),
		},
		webhooks: {
			claim: op("webhooks.claim"),
			tried: op("webhooks.tried"),
			redeliver: op("webhooks.redeliver"),
			find: op("webhooks.find"),
			list: op("webhooks.list"),
			expire: op("webhooks.expire"),
		},
		metrics: { put: op("metrics.put"), read: op("metrics.read"), expire: op("metrics.expire") },
		identity: () => call("identity", undefined),
		ping: () => call("ping", undefined),
		onSignal(listener) {
			const own = (signal: Signal): void => listener(signal);
			listeners.add(own);
			return () => listeners.delete(own);
		},
		async close() {
			if (!closed) {
				closed = new StoreUnavailable("closed", "The store is closed.");
				if (under.length > 0 || waiting.length > 0)
					await new Promise<void>((resolve) => (idle = resolve));
				thread.postMessage("close" satisfies Batch);
			}
			await exited;
		},
	};
}
