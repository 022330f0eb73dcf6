/**
 * Batches operations on jobs: those that arrive during a transaction share the next one (one round
 * trip to read, one to write, one commit). If it fails, each half runs, so that few transactions
 * find the faulty one, and only that one fails. Claims run last. Endpoints with rows that others
 * keep locked run apart, so that the rest need not wait for them.
 */
import type { Clock } from "../../clock.ts";
import type { Job } from "../../core/job.ts";
import type { Answer, Operation, Query, Reads } from "../operations/operation.ts";
import { sizeOf } from "../../core/json/json-text.ts";
import { OPERATIONS, type SharedWriteName, weightOf } from "../operations/table.ts";
import { StoreUnavailable } from "../contract/store.ts";
import type { Claim } from "../contract/jobs.ts";
import { type ClaimQuery, Claims } from "./claim.ts";
import { faultOf, isLockTimeout, OutcomeUnknown } from "./connection/errors.ts";
import type { Database } from "./connection/database.ts";
import { lockedTable } from "./connection/table-locks.ts";
import { openUnconfirmedClaims } from "./unconfirmed-claims.ts";
import { purge } from "./purge.ts";
import type { ServerMemory, UnitOfWork } from "./rows/unit-of-work.ts";
import { transaction } from "./connection/transaction.ts";
import { addReads, emptyReadSet, loadFollowUp, loadRows } from "./rows/read-set.ts";
import { unstorable } from "./rows/storable.ts";
import { type Hints, runUnitOfWork } from "./rows/run-unit-of-work.ts";

/** Maximum number of operations per transaction, and most payload characters. */
const MOST_OPS = 512;
const MOST_WEIGHT = 32_000_000;

/** Maximum wait for a lock of operations that run apart from those of other endpoints, ms. */
const BRIEF_MS = 100;

/** An operation that shares transactions; a purge runs alone, in its turn. */
export type BatchedName = SharedWriteName | "jobs.claim" | "jobs.purge";

interface Waiter {
	name: BatchedName;
	q: unknown;
	/** Time of the call, ms since the epoch. */
	at: number;
	resolve: (answer: unknown) => void;
	reject: (error: Error) => void;
}

export interface Batches {
	call<N extends BatchedName>(name: N, q: Query<N>): Promise<Answer<N>>;
	/** Waits for calls in flight; later calls throw {@link StoreUnavailable}. */
	close(): Promise<void>;
}

function readsOf(name: BatchedName, q: unknown): Reads {
	const operation = OPERATIONS[name] as Operation<SharedWriteName>;
	return operation.apply ? operation.reads(q as never) : { endpoints: [(q as Query<"jobs.claim">).endpoint] };
}

function endpointOf({ name, q }: Waiter): string {
	const { jobs = [], workers = [], keys = [], endpoints = [] } = readsOf(name, q);
	return [...jobs, ...workers, ...keys][0]?.endpoint ?? endpoints[0] ?? "";
}

export function openBatches({
	database,
	clock,
	server,
	hints,
}: {
	database: Database;
	clock: Clock;
	server: ServerMemory;
	hints: Hints;
}): Batches {
	let waiting: Waiter[] = [];
	/** Endpoints whose last transaction timed out at a lock. */
	const blocked = new Set<string>();
	let running = false;
	let scheduled = false;
	let closed = false;
	let idle: (() => void) | undefined;

	/** Runs `ops` in the transaction of `unit`; returns the answers in their order. */
	async function perform(unit: UnitOfWork, ops: readonly Waiter[]): Promise<unknown[]> {
		const [first] = ops;
		if (first?.name === "jobs.purge") return [await purge(unit, first.q as Query<"jobs.purge">)];
		const reads = emptyReadSet();
		for (const { name, q } of ops) addReads(reads, readsOf(name, q), (q as { now?: number }).now);
		const { queues, records, idempotency } = unit;
		const asked = [
			...Map.groupBy(
				ops.keys().filter((at) => OPERATIONS[ops[at]!.name].kind === "claim"),
				(at) => (ops[at]!.q as ClaimQuery).endpoint,
			),
		];
		const claims = new Claims(unit);
		const queriesOf = (places: readonly number[]): ClaimQuery[] => places.map((at) => ops[at]!.q as ClaimQuery);
		// Sent together; each sees what the locks before it protect.
		await Promise.all([
			queues.read(reads.endpoints, reads.now),
			idempotency.load(reads.keys),
			loadRows(records, reads),
			...asked.map(([endpoint, places]) => claims.ahead(endpoint, queriesOf(places))),
		]);
		const answers: unknown[] = [];
		for (const [at, { name, q }] of ops.entries()) {
			const operation = OPERATIONS[name] as Operation<SharedWriteName>;
			if (operation.kind !== "write" || !operation.apply) continue;
			const followUp = operation.follow?.(unit, q as never);
			if (followUp) await loadFollowUp(unit, followUp);
			answers[at] = operation.apply(unit, q as never);
		}
		for (const [endpoint, places] of asked) {
			const found = await claims.answer(endpoint, queriesOf(places));
			places.forEach((at, index) => (answers[at] = found[index]));
		}
		return answers;
	}

	async function commit(ops: readonly Waiter[], lockMs?: number): Promise<unknown[]> {
		let answers: unknown[] = [];
		const since = ops[0]?.at ?? clock.now();
		try {
			return await runUnitOfWork<unknown[]>(
				{
					transact: (work) => transaction({ connection: database.hot, clock, since, lockMs }, work),
					slot: () => database.hotSlot,
					server,
					hints,
				},
				async (unit) => (answers = await perform(unit, ops)),
			);
		} catch (error) {
			if (error instanceof OutcomeUnknown)
				lostClaims.add({
					marker: error.marker,
					jobs: ops.flatMap(({ name }, at) =>
						OPERATIONS[name].kind === "claim" ? (answers[at] as Claim).jobs.map(({ job }) => job) : [],
					),
				});
			throw error;
		}
	}

	/**
	 * Answers `ops`; false if they could not run together. `faulty`: one of them is known to fail.
	 */
	async function run(
		ops: readonly Waiter[],
		{ faulty = false, lockMs }: { faulty?: boolean; lockMs?: number | undefined } = {},
	): Promise<boolean> {
		if (faulty && ops.length > 1) return await runHalves(ops, lockMs);
		try {
			const answers = await commit(ops, lockMs);
			// Claims first, as in SQLite: the worker can ask again while the other answers go out.
			for (const first of [true, false])
				for (const [at, { name, resolve }] of ops.entries())
					if ((OPERATIONS[name].kind === "claim") === first) resolve(answers[at]);
			return true;
		} catch (error) {
			let fault = faultOf(error, database.name);
			if (isLockTimeout(error)) {
				const whole = await lockedTable(database).catch(() => undefined);
				if (!whole && lockMs === undefined) return await runApart(ops);
				if (!whole) blocked.add(endpointOf(ops[0]!));
				fault = whole ?? fault;
			} else if (ops.length > 1 && !(fault instanceof StoreUnavailable)) return await runHalves(ops, lockMs);
			for (const { reject } of ops) reject(fault);
			return false;
		}
	}

	/** In order: what succeeds in the first half is committed before the second begins. */
	async function runHalves(ops: readonly Waiter[], lockMs: number | undefined): Promise<false> {
		const middle = ops.length >> 1;
		const succeeded = await run(ops.slice(0, middle), { lockMs });
		await run(ops.slice(middle), { faulty: succeeded, lockMs });
		return false;
	}

	/** Runs them by endpoint, each with a brief wait for its locks. */
	async function runApart(ops: readonly Waiter[]): Promise<false> {
		for (const [endpoint, own] of Map.groupBy(ops, endpointOf))
			if (await run(own, { lockMs: BRIEF_MS })) blocked.delete(endpoint);
		return false;
	}

	async function runNext(ops: readonly Waiter[]): Promise<void> {
		if (blocked.size === 0) return void (await run(ops));
		const isBlocked = (each: Waiter): boolean => blocked.has(endpointOf(each));
		const [free, others] = [ops.filter((each) => !isBlocked(each)), ops.filter(isBlocked)];
		if (free.length > 0) await run(free);
		await runApart(others);
	}

	/** Removes and returns the operations that fit the next transaction. */
	function next(): Waiter[] {
		let weight = 0;
		const alone = waiting[0]?.name === "jobs.purge";
		const fit = waiting.findIndex(
			({ name, q }, at) =>
				at > 0 &&
				(alone || name === "jobs.purge" || at >= MOST_OPS || (weight += weightOf(name, q, sizeOf)) > MOST_WEIGHT),
		);
		return waiting.splice(0, fit < 0 ? waiting.length : fit);
	}

	async function drain(): Promise<void> {
		scheduled = false;
		if (running) return;
		running = true;
		while (waiting.length > 0) await runNext(next());
		running = false;
		idle?.();
	}

	function call<N extends BatchedName>(name: N, q: Query<N>): Promise<Answer<N>> {
		return new Promise<Answer<N>>((resolve, reject) => {
			if (closed) return reject(new StoreUnavailable("closed", "The store is closed."));
			const member = unstorable(q);
			if (member !== undefined) return reject(new Error(`PostgreSQL cannot store U+0000, which ${member} contains.`));
			waiting.push({
				name,
				q,
				at: clock.now(),
				resolve: resolve as (answer: unknown) => void,
				reject,
			});
			if (scheduled || running) return;
			scheduled = true;
			setImmediate(() => void drain());
		});
	}

	/** `now` is the time of the claim: what has passed since, such as the lease, is no loss. */
	async function release(jobs: readonly Job[]): Promise<void> {
		const given = jobs.map(async ({ endpoint, id, attempt, startedAt = 0 }) => {
			const moved = await call("jobs.move", {
				endpoint,
				id,
				on: "release",
				attempt,
				over: true,
				now: startedAt,
			});
			if (moved.ok) hints.own([{ kind: "queued", endpoint, id }]);
		});
		await Promise.all(given);
	}

	const lostClaims = openUnconfirmedClaims({ write: database.write, clock, release });

	return {
		call,
		async close() {
			closed = true;
			await lostClaims.close();
			if (running || scheduled) await new Promise<void>((resolve) => (idle = resolve));
		},
	};
}
