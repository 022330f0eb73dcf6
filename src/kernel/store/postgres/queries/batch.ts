/**
 * Batches operations on jobs: those that arrive during a transaction share the next one. If it fails, each half runs:
 * few transactions find the faulty operation, and only that one fails. Claims run last. Endpoints with rows that others
 * keep locked run apart: the rest need not wait for them.
 */
import type { Clock } from "../../../system/clock.ts";
import { newHistogram, observe } from "../../../lib/histogram.ts";
import type { Job } from "../../../core/jobs/job.ts";
import type { Answer, Operation, Query, Reads } from "../../operations/operation.ts";
import { sizeOf } from "../../../lib/json/json-text.ts";
import { OPERATIONS, type SharedWriteName, weightOf } from "../../operations/table.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Claim } from "../../contract/jobs.ts";
import { type ClaimQuery, Claims } from "./claim.ts";
import { faultOf, isLockTimeout, OutcomeUnknown } from "../connection/errors.ts";
import type { Database } from "../connection/database.ts";
import { lockedTable } from "./table-locks.ts";
import { openUnconfirmedClaims } from "./unconfirmed-claims.ts";
import { purge } from "./purge.ts";
import { type Notify, runUnitOfWork, type ServerMemory, type UnitOfWork } from "../rows/unit-of-work.ts";
import { transaction } from "../connection/transaction.ts";
import { addReads, emptyReadSet, loadFollowUp, loadRows } from "../rows/read-set.ts";
import { unstorable } from "../connection/statement.ts";

const MOST_OPS = 512;
const MOST_WEIGHT = 32_000_000;

/** A claim that begins within this time has the time of its call, ms. */
const LATE_MS = 100;

/** Maximum wait for locks of operations that run apart, ms. */
const BRIEF_MS = 100;

export type BatchedName = SharedWriteName | "jobs.claim" | "jobs.purge";

interface Waiter {
	name: BatchedName;
	q: unknown;
	at: number;
	resolve: (answer: unknown) => void;
	reject: (error: Error) => void;
}

function readsOf(name: BatchedName, q: unknown): Reads {
	const operation = OPERATIONS[name] as Operation<SharedWriteName>;
	return operation.apply ? operation.reads(q as never) : { endpoints: [(q as Query<"jobs.claim">).endpoint] };
}

function endpointOf({ name, q }: Waiter): string {
	const { jobs = [], workers = [], keys = [], endpoints = [] } = readsOf(name, q);
	return [...jobs, ...workers, ...keys][0]?.endpoint ?? endpoints[0] ?? "";
}

const isClaim = ({ name }: Waiter): boolean => OPERATIONS[name].kind === "claim";

/** A job is not sent to a worker before its transaction: a claim that waited for the database gets a later time. */
function queriesOf(claims: readonly Waiter[], began: number): ClaimQuery[] {
	return claims.map(({ q, at }) => {
		const claim = q as ClaimQuery;
		return began - at > LATE_MS ? { ...claim, now: claim.now + (began - at) } : claim;
	});
}

/** Runs operations in one transaction. `began`: its begin, by the clock of `Waiter.at`. */
async function perform(unit: UnitOfWork, ops: readonly Waiter[], began: number): Promise<unknown[]> {
	const [first] = ops;
	if (first?.name === "jobs.purge") return [await purge(unit, first.q as Query<"jobs.purge">)];
	const reads = emptyReadSet();
	for (const { name, q } of ops) addReads(reads, readsOf(name, q), (q as { now?: number }).now);
	const { queues, records, idempotency } = unit;
	const asked = [...Map.groupBy(ops.filter(isClaim), ({ q }) => (q as ClaimQuery).endpoint)];
	const claims = new Claims(unit);
	// Sent together; each statement sees the rows that the earlier locks protect.
	await Promise.all([
		queues.read(reads.endpoints, reads.now),
		idempotency.load(reads.keys),
		loadRows(records, reads),
		...asked.map(([endpoint, own]) => claims.ahead(endpoint, queriesOf(own, began))),
	]);
	const answers = new Map<Waiter, unknown>();
	for (const op of ops) {
		const operation = OPERATIONS[op.name] as Operation<SharedWriteName>;
		if (operation.kind !== "write" || !operation.apply) continue;
		const followUp = operation.follow?.(unit, op.q as never);
		if (followUp) await loadFollowUp(unit, followUp);
		answers.set(op, operation.apply(unit, op.q as never));
	}
	for (const [endpoint, own] of asked) {
		const found = await claims.answer(endpoint, queriesOf(own, began));
		own.forEach((op, index) => answers.set(op, found[index]));
	}
	return ops.map((op) => answers.get(op));
}

interface BatchesOptions {
	database: Database;
	clock: Clock;
	server: ServerMemory;
	notify: Notify;
}

export class Batches {
	readonly commitMs = newHistogram();
	readonly commitSizes = newHistogram();
	lockTimeouts = 0;
	readonly #q;
	#waiting: Waiter[] = [];
	/** Endpoints whose last transaction timed out at a lock. */
	readonly #blocked = new Set<string>();
	#running = false;
	#scheduled = false;
	#closed = false;
	#idle: (() => void) | undefined;
	readonly #lostClaims;

	constructor(q: BatchesOptions) {
		this.#q = q;
		const { database, clock } = q;
		this.#lostClaims = openUnconfirmedClaims({
			write: database.write,
			clock,
			release: (jobs) => this.#release(jobs),
		});
	}

	call<N extends BatchedName>(name: N, q: Query<N>): Promise<Answer<N>> {
		return new Promise<Answer<N>>((resolve, reject) => {
			if (this.#closed) return reject(new StoreUnavailable("closed", "The store is closed."));
			const member = unstorable(q);
			if (member !== undefined) return reject(new Error(`PostgreSQL cannot store U+0000, which ${member} contains.`));
			const at = this.#q.clock.now();
			this.#waiting.push({ name, q, at, resolve: resolve as (answer: unknown) => void, reject });
			if (this.#scheduled || this.#running) return;
			this.#scheduled = true;
			setImmediate(() => void this.#drain());
		});
	}

	get waiting(): number {
		return this.#waiting.length;
	}

	async close(): Promise<void> {
		this.#closed = true;
		await this.#lostClaims.close();
		if (this.#running || this.#scheduled) await new Promise<void>((resolve) => (this.#idle = resolve));
	}

	async #drain(): Promise<void> {
		this.#scheduled = false;
		if (this.#running) return;
		this.#running = true;
		while (this.#waiting.length > 0) await this.#runNext(this.#next());
		this.#running = false;
		this.#idle?.();
	}

	#next(): Waiter[] {
		const waiting = this.#waiting;
		let weight = 0;
		const alone = waiting[0]?.name === "jobs.purge";
		const fit = waiting.findIndex(
			({ name, q }, at) =>
				at > 0 &&
				(alone || name === "jobs.purge" || at >= MOST_OPS || (weight += weightOf(name, q, sizeOf)) > MOST_WEIGHT),
		);
		return waiting.splice(0, fit < 0 ? waiting.length : fit);
	}

	async #runNext(ops: readonly Waiter[]): Promise<void> {
		if (this.#blocked.size === 0) return void (await this.#run(ops));
		const { free = [], held = [] } = Object.groupBy(ops, (each) =>
			this.#blocked.has(endpointOf(each)) ? "held" : "free",
		);
		if (free.length > 0) await this.#run(free);
		await this.#runApart(held);
	}

	/**
	 * Runs operations in one transaction. False if they could not run together. `faulty`: one of them is known to fail.
	 */
	async #run(
		ops: readonly Waiter[],
		{ faulty = false, lockMs }: { faulty?: boolean; lockMs?: number | undefined } = {},
	): Promise<boolean> {
		const { database, clock } = this.#q;
		if (faulty && ops.length > 1) return await this.#runHalves(ops, lockMs);
		try {
			const began = clock.now();
			const answers = await this.#commit(ops, lockMs);
			observe(this.commitMs, clock.now() - began);
			observe(this.commitSizes, ops.length);
			// Claims are answered first, as in SQLite: the worker can send its next request while the other answers are sent.
			for (const first of [true, false])
				for (const [at, op] of ops.entries()) if (isClaim(op) === first) op.resolve(answers[at]);
			return true;
		} catch (error) {
			let fault = faultOf(error, database.name);
			if (isLockTimeout(error)) {
				this.lockTimeouts += 1;
				const whole = await lockedTable(database).catch(() => undefined);
				if (!whole && lockMs === undefined) return await this.#runApart(ops);
				if (!whole) this.#blocked.add(endpointOf(ops[0]!));
				fault = whole ?? fault;
			} else if (ops.length > 1 && !(fault instanceof StoreUnavailable)) return await this.#runHalves(ops, lockMs);
			for (const { reject } of ops) reject(fault);
			return false;
		}
	}

	/** Runs both halves in order: changes of the first half are committed before the second begins. */
	async #runHalves(ops: readonly Waiter[], lockMs: number | undefined): Promise<false> {
		const middle = ops.length >> 1;
		const succeeded = await this.#run(ops.slice(0, middle), { lockMs });
		await this.#run(ops.slice(middle), { faulty: succeeded, lockMs });
		return false;
	}

	async #runApart(ops: readonly Waiter[]): Promise<false> {
		for (const [endpoint, own] of Map.groupBy(ops, endpointOf))
			if (await this.#run(own, { lockMs: BRIEF_MS })) this.#blocked.delete(endpoint);
		return false;
	}

	async #commit(ops: readonly Waiter[], lockMs?: number): Promise<unknown[]> {
		const { database, clock, server, notify } = this.#q;
		let answers: unknown[] = [];
		const since = ops[0]?.at ?? clock.now();
		try {
			return await runUnitOfWork<unknown[]>(
				{
					transact: (work) => transaction({ connection: database.hot, clock, since, lockMs }, work),
					slot: () => database.hotSlot,
					server,
					notify,
				},
				async (unit) => (answers = await perform(unit, ops, clock.now())),
			);
		} catch (error) {
			if (error instanceof OutcomeUnknown)
				this.#lostClaims.add({
					marker: error.marker,
					jobs: ops.flatMap((op, at) => (isClaim(op) ? (answers[at] as Claim).jobs.map(({ job }) => job) : [])),
				});
			throw error;
		}
	}

	/** `now` is the time of the claim: what has passed since, such as the lease, is no loss. */
	async #release(jobs: readonly Job[]): Promise<void> {
		const given = jobs.map(async ({ endpoint, id, attempt, startedAt: now = 0 }) => {
			const moved = await this.call("jobs.move", { endpoint, id, on: "release", attempt, over: true, now });
			if (moved.ok) this.#q.notify.own([{ kind: "queued", endpoint, id }]);
		});
		await Promise.all(given);
	}
}
