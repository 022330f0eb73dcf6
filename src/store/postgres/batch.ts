/**
 * Operations on jobs gather while a transaction is under way and go into the next one together: one
 * round trip to read what they need, one to write what they changed, one commit. When it fails,
 * each runs alone, so that only the culprit does. Claims run last.
 */
import type { Clock } from "../../clock.ts";
import type { Job } from "../../core/job.ts";
import { sizeOf } from "../../core/json/json-text.ts";
import { OPS } from "../operations.ts";
import type { Answer, Query } from "../operations.ts";
import { StoreUnavailable } from "../contract/store.ts";
import type { Claim } from "../contract/jobs.ts";
import { openChunks } from "./chunks.ts";
import { openClaims } from "./claim.ts";
import type { ClaimQuery } from "./claim.ts";
import { faultOf, OutcomeUnknown } from "./connection/errors.ts";
import type { Database } from "./connection/database.ts";
import { openJobs } from "./jobs.ts";
import type { JobSteps } from "./jobs.ts";
import type { ChunkSteps } from "./chunks.ts";
import { openUnconfirmedClaims } from "./unconfirmed-claims.ts";
import { purge } from "./purge.ts";
import type { ServerMemory, UnitOfWork } from "./rows/unit-of-work.ts";
import { transaction } from "./connection/transaction.ts";
import { loadRows, emptyReadSet, addReads } from "./rows/read-set.ts";
import { openWorkers } from "./workers.ts";
import { runUnitOfWork } from "./rows/run-unit-of-work.ts";
import type { Hints } from "./rows/run-unit-of-work.ts";
import type { WorkerSteps } from "./workers.ts";

/** Most operations in one transaction, and most characters of payload. */
const MOST_OPS = 512;
const MOST_WEIGHT = 32_000_000;

/** An operation that shares transactions; a purge has one of its own, in its turn. */
export type SharedOp =
	| `jobs.${keyof JobSteps}`
	| "jobs.claim"
	| "jobs.purge"
	| `chunks.${keyof ChunkSteps}`
	| `workers.${keyof WorkerSteps}`;

interface Waiter {
	name: SharedOp;
	q: unknown;
	/** When it was asked, ms since the epoch. */
	at: number;
	resolve: (answer: unknown) => void;
	reject: (error: Error) => void;
}

/** Runs operations in shared transactions. */
export interface Batches {
	call<N extends SharedOp>(name: N, q: Query<N>): Promise<Answer<N>>;
	/** Waits for those under way; later calls throw {@link StoreUnavailable}. */
	close(): Promise<void>;
}

/** Characters of payload that an operation carries. */
function weightOf(q: unknown): number {
	const { input, value, outcome, chunks } = q as Partial<
		Query<"jobs.insert"> & Query<"jobs.progress"> & Query<"jobs.report"> & Query<"chunks.append">
	>;
	return (
		sizeOf(input ?? "") +
		sizeOf(value ?? "") +
		sizeOf(outcome?.output ?? "") +
		(chunks?.reduce((sum, chunk) => sum + chunk.length, 0) ?? 0)
	);
}

export function openBatches({
	database,
	clock,
	kept,
	hints,
}: {
	database: Database;
	clock: Clock;
	kept: ServerMemory;
	hints: Hints;
}): Batches {
	let waiting: Waiter[] = [];
	let running = false;
	let scheduled = false;
	let closed = false;
	let idle: (() => void) | undefined;

	/** The answers of `ops` in their order, done in the transaction of `parts`. */
	async function perform(parts: UnitOfWork, ops: readonly Waiter[]): Promise<unknown[]> {
		const [first] = ops;
		if (first?.name === "jobs.purge") return [await purge(parts, first.q as Query<"jobs.purge">)];
		const wants = emptyReadSet();
		for (const { name, q } of ops) addReads(wants, name, q as never);
		const { queues, records, idempotency } = parts;
		const asked = [
			...Map.groupBy(
				ops.keys().filter((at) => OPS[ops[at]!.name] === "claim"),
				(at) => (ops[at]!.q as ClaimQuery).endpoint,
			),
		];
		const claims = openClaims(parts);
		const queriesOf = (places: readonly number[]): ClaimQuery[] =>
			places.map((at) => ops[at]!.q as ClaimQuery);
		// All leave in one go, and each sees what the locks before it protect.
		await Promise.all([
			queues.read(wants.endpoints, wants.now),
			idempotency.load(wants.keys),
			loadRows(records, wants),
			...asked.map(([endpoint, places]) => claims.ahead(endpoint, queriesOf(places))),
		]);
		const groups = {
			jobs: openJobs(parts),
			chunks: openChunks(parts),
			workers: openWorkers(parts),
		} as unknown as Record<string, Record<string, (q: unknown) => Promise<unknown>>>;
		const answers: unknown[] = [];
		for (const [at, { name, q }] of ops.entries()) {
			if (OPS[name] === "claim") continue;
			const [group = "", method = ""] = name.split(".");
			answers[at] = await groups[group]?.[method]?.(q);
		}
		for (const [endpoint, places] of asked) {
			const found = await claims.answer(endpoint, queriesOf(places));
			places.forEach((at, index) => (answers[at] = found[index]));
		}
		return answers;
	}

	async function commit(ops: readonly Waiter[]): Promise<unknown[]> {
		let answers: unknown[] = [];
		const since = ops[0]?.at ?? clock.now();
		try {
			return await runUnitOfWork<unknown[]>(
				{
					transact: (work) => transaction({ connection: database.hot, clock, since }, work),
					slot: () => database.hotSlot,
					kept,
					hints,
				},
				async (parts) => (answers = await perform(parts, ops)),
			);
		} catch (error) {
			if (error instanceof OutcomeUnknown)
				lostClaims.add({
					marker: error.marker,
					jobs: ops.flatMap(({ name }, at) =>
						OPS[name] === "claim" ? (answers[at] as Claim).jobs.map(({ job }) => job) : [],
					),
				});
			throw error;
		}
	}

	async function run(ops: readonly Waiter[]): Promise<void> {
		try {
			const answers = await commit(ops);
			// As in SQLite: a worker that gets jobs asks again while the other answers go out.
			for (const first of [true, false])
				for (const [at, { name, resolve }] of ops.entries())
					if ((OPS[name] === "claim") === first) resolve(answers[at]);
		} catch (error) {
			const fault = faultOf(error, database.name);
			if (ops.length === 1 || fault instanceof StoreUnavailable)
				return ops.forEach(({ reject }) => reject(fault));
			for (const op of ops) await run([op]);
		}
	}

	/** Those that go together now: as many as fit. */
	function next(): Waiter[] {
		let weight = 0;
		const alone = waiting[0]?.name === "jobs.purge";
		const fit = waiting.findIndex(
			({ name, q }, at) =>
				at > 0 &&
				(alone || name === "jobs.purge" || at >= MOST_OPS || (weight += weightOf(q)) > MOST_WEIGHT),
		);
		return waiting.splice(0, fit < 0 ? waiting.length : fit);
	}

	async function drain(): Promise<void> {
		scheduled = false;
		if (running) return;
		running = true;
		while (waiting.length > 0) await run(next());
		running = false;
		idle?.();
	}

	function call<N extends SharedOp>(name: N, q: Query<N>): Promise<Answer<N>> {
		return new Promise<Answer<N>>((resolve, reject) => {
			if (closed) return reject(new StoreUnavailable("closed", "The store is closed."));
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

	/**
	 * As of the moment of the hand-out: what has passed since then, such as their lease, is no loss.
	 */
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
