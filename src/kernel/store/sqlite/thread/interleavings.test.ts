/**
 * Random operations in random batches give the answers and the rows of a store that runs them one
 * by one, without batches and caches, in the order of T3. T1 to T11: README.md here; R1 to R8:
 * ../rows/README.md.
 */
import { MessageChannel, Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { LARGE_BYTES } from "../../../lib/json/json-text.ts";
import { OP_NAMES, OPERATIONS } from "../../operations/table.ts";
import type { OpName } from "../../operations/operation.ts";
import type { Store } from "../../contract/store.ts";
import { type Database, openDatabase } from "../file/database.ts";
import { textInFile } from "../payload-files/file-block.ts";
import { UnitOfWork } from "../rows/unit-of-work.ts";
import {
	contents,
	type NaiveStore,
	openNaiveStore,
	temporaryDatabase,
} from "../../../../../test/support/sqlite/naive.ts";
import {
	anyOperation,
	fencing,
	type Operation,
	roundsOf,
	streaming,
} from "../../../../../test/support/sqlite/operations.ts";
import { openBatches } from "./batch.ts";
import { systemClock } from "../../../system/clock.ts";
import { DatabaseClient } from "./client.ts";
import { CODECS } from "./codecs.ts";
import type { Batch, Reply, ThreadData } from "./messages.ts";
import { turnMemory, turnWriter } from "./turn.ts";

const T0 = 1_800_000_000_000;
/** Sizes of the row cache: rows are dropped after each step, in a transaction, never. */
const keptRows = fc.constantFrom(2, 8, 1000);
const FAILED_COMMIT = "the disk failed";

interface Call {
	name: OpName;
	q: object;
}

/** Turns operations into calls: ids, times, texts. */
function caller() {
	const ids: string[] = [];
	const idsOf: Record<string, string[]> = { e1: [], e2: [] };
	let now = T0;
	let places = 0;
	/** Large texts are in payload files, which the database thread does not read. */
	const text = (of: string, large: boolean) =>
		large
			? textInFile({
					segment: 1 + (places % 3),
					at: (places += 1) * LARGE_BYTES,
					length: LARGE_BYTES,
					sum: 7,
				})
			: `"${of}"`;

	return {
		pass(ms: number): void {
			now += ms;
		},
		settle: (): Call => ({ name: "jobs.settle", q: { now, limit: 1000 } }),
		reads: (): Call[] => [
			...ids.flatMap((id) => ["e1", "e2"].map((of): Call => ({ name: "jobs.record", q: { endpoint: of, id, now } }))),
			...["e1", "e2"].flatMap((of): Call[] => [
				{ name: "jobs.counts", q: { endpoint: of, now } },
				{ name: "jobs.waiting", q: { endpoint: of, now } },
			]),
			{ name: "jobs.running", q: {} },
			{ name: "jobs.unstopped", q: {} },
		],
		of(given: Operation, mayFail: boolean): Call {
			const { name, ...rest } = given;
			const own = "endpoint" in given ? idsOf[given.endpoint]! : [];
			const q = {
				...rest,
				now,
				...("job" in given && { id: own.at(-1 - given.job) ?? "unknown" }),
			};
			switch (given.name) {
				case "jobs.insert": {
					const used = given.twice && mayFail ? ids.at(-1) : undefined;
					const id = used ?? `job-${String(ids.length).padStart(4, "0")}`;
					if (used === undefined) {
						ids.push(id);
						own.push(id);
					}
					return {
						name,
						q: {
							submission: {
								id,
								endpoint: given.endpoint,
								operation: "run",
								lowPriority: given.lowPriority,
								ttlMs: given.ttlMs,
								executionTimeoutMs: 40_000,
								leaseMs: 20_000,
								retainMs: 100_000,
								recordMs: 1_000_000,
								webhook: given.webhook,
								s3Config: undefined,
							},
							input: text(id, given.large),
							now,
							queueBound: given.queueBound,
							idempotency: given.key && { key: given.key, bodyHash: "a", keptMs: 50_000 },
						},
					};
				}
				case "jobs.report":
					return {
						name,
						q: {
							...q,
							outcome:
								given.on === "complete"
									? { on: "complete", output: text("out", given.large), error: undefined }
									: { on: "fail", output: undefined, error: "no" },
						},
					};
				case "jobs.progress":
					return { name, q: { ...q, value: "1" } };
				case "workers.ping":
					return { name, q: { ...q, handedBefore: now, intervalMs: 0 } };
				case "workers.idle":
					return { name, q: { ...q, before: now } };
				default:
					return { name, q };
			}
		},
	};
}

/** An answer without what may differ. */
function plain(answer: unknown): unknown {
	if (answer instanceof Uint8Array) return answer;
	if (Array.isArray(answer)) return answer.map(plain);
	if (typeof answer !== "object" || answer === null) return answer;
	return Object.fromEntries(
		Object.entries(answer)
			// Whether a deadline was settled by this call or by one before it may differ.
			.filter(([key]) => key !== "settled")
			.map(([key, value]) => [key, plain(value)]),
	);
}

interface Outcome {
	answer?: unknown;
	failure?: string | undefined;
}

const packed = ({ name, q }: Call): unknown[] => {
	const number = OP_NAMES.indexOf(name);
	return [number, CODECS[number]?.pack(q)];
};
const outcomeOf = ({ name, q }: Call, reply: Reply, index: number): Outcome => {
	const failure = reply.failures.find((each) => each.index === index)?.message;
	const codec = CODECS[OP_NAMES.indexOf(name)]!;
	return failure === undefined ? { answer: plain(codec.unpackAnswer(reply.answers[index], q)) } : { failure };
};

/** Compares what calls of one reply gave with the naive store, in the order of T3. */
function comparison(naive: NaiveStore) {
	const signals: Reply["signals"] = [];
	return {
		signals,
		compare(calls: readonly Call[], outcomes: readonly Outcome[]): void {
			const order = calls.map((_, index) => index);
			const isClaim = (index: number): boolean => OPERATIONS[calls[index]!.name].kind === "claim";
			for (const index of [...order.filter((each) => !isClaim(each)), ...order.filter((each) => isClaim(each))]) {
				const call = calls[index]!;
				// Nothing of it was done, as the caller knows.
				if (outcomes[index]!.failure === FAILED_COMMIT) continue;
				const [number, query] = structuredClone(packed(call)) as [number, unknown];
				const reply = naive.run(number, query);
				signals.push(...reply.signals);
				expect({ call, ...outcomes[index] }).toEqual({ call, ...outcomeOf(call, reply, 0) });
			}
		},
	};
}

/** Signals in one order; of deliveries one is enough. */
function sorted(signals: Reply["signals"]): string[] {
	const all = signals.map((signal) => JSON.stringify(signal)).toSorted();
	return all.filter((text, at) => !(text.includes('"delivery"') && text === all[at - 1]));
}

/** `db` with commits that fail on request. */
function failing(db: Database): { db: Database; failNext: () => void } {
	let fail = false;
	return {
		failNext: () => (fail = true),
		db: {
			...db,
			get inTransaction() {
				return db.inTransaction;
			},
			prepare(sql) {
				const statement = db.prepare(sql);
				if (sql !== "COMMIT") return statement;
				return {
					get: (...values) => statement.get(...values),
					all: (...values) => statement.all(...values),
					iterate: (...values) => statement.iterate(...values),
					run(...values) {
						if (!fail) return statement.run(...values);
						fail = false;
						throw new Error(FAILED_COMMIT);
					},
				};
			},
		},
	};
}

it.each([
	{ of: "", operation: anyOperation, numRuns: 60 },
	{ of: " that fence jobs (R7)", operation: fencing, numRuns: 60 },
	{ of: " that reserve chunks (R8)", operation: streaming, numRuns: 60 },
])(
	"T3 to T6, R1 to R8: any batches of operations$of give what each gives alone",
	{
		timeout: 120_000,
	},
	async ({ operation, numRuns }) => {
		await fc.assert(
			fc.asyncProperty(roundsOf(operation), keptRows, async (given, kept) => {
				const naive = await openNaiveStore();
				const file = await temporaryDatabase();
				try {
					const { db, failNext } = failing(file.db);
					const unit = new UnitOfWork(db, { keptRows: kept });
					const answer = openBatches(unit, systemClock);
					const call = caller();
					const { compare, signals } = comparison(naive);
					const seen: Reply["signals"] = [];

					/** Runs batches as the thread does: messages are copied. */
					function run(batches: readonly (readonly Call[])[]): void {
						const messages = batches.map((calls) => structuredClone(calls.flatMap(packed)));
						const calls = batches.flat();
						while (messages.length > 0) {
							const first = messages.shift()!;
							const reply = structuredClone(answer(first, () => messages.shift()));
							unit.payloads.forgetFresh();
							seen.push(...reply.signals);
							const here = calls.splice(0, reply.answers.length);
							compare(
								here,
								here.map((each, index) => outcomeOf(each, reply, index)),
							);
						}
					}

					for (const { passes, settled, transactions } of given) {
						call.pass(passes);
						if (settled) run([[call.settle()]]);
						for (const { batches, commitFails } of transactions) {
							if (settled && commitFails) failNext();
							run(batches.map((batch) => batch.map((each) => call.of(each, settled))));
						}
						run([[call.settle()], call.reads()]);
						expect(contents(file.db)).toEqual(contents(naive.db));
						expect(sorted(seen.splice(0))).toEqual(sorted(signals.splice(0)));
					}
				} finally {
					file.end();
					naive.end();
				}
			}),
			{ numRuns, interruptAfterTimeLimit: 60_000 },
		);
	},
);

/** Calls of the contract by their names in the table of operations. */
function ask(store: Store, { name, q }: Call): Promise<unknown> {
	const [group, method] = name.split(".") as [keyof Store, string];
	return (store[group] as unknown as Record<string, (q: object) => Promise<unknown>>)[method]!(q);
}

it("T1 to T9, T11: each caller of the thread gets the answer of its own operation, in the order of the replies", {
	timeout: 120_000,
}, async () => {
	await fc.assert(
		fc.asyncProperty(roundsOf(anyOperation), async (given) => {
			const naive = await openNaiveStore();
			const file = await temporaryDatabase();
			const { path } = file.db;
			file.db.close();
			const { port2: backups } = new MessageChannel();
			const turn = turnMemory();
			const thread = new Worker(new URL("./database-thread.ts", import.meta.url), {
				workerData: { path, backups, turn } satisfies ThreadData,
				transferList: [backups],
			});
			await new Promise((resolve) => thread.once("message", resolve));
			thread.postMessage({ check: undefined });
			await new Promise((resolve) => thread.once("message", resolve));

			/** How many operations each batch and each reply held, as they passed. */
			const sent: number[] = [];
			const replied: number[] = [];
			const { store } = new DatabaseClient(
				new Proxy(thread, {
					get(target, key) {
						if (key === "postMessage")
							return (batch: Batch) => {
								if (batch !== "close") sent.push(batch.length / 2);
								target.postMessage(batch);
							};
						if (key === "on")
							return (event: string, listener: (value: unknown) => void) =>
								target.on(event, (value: unknown) => {
									if (event === "message")
										replied.push(sent.splice(0, (value as Reply).batches).reduce((sum, count) => sum + count, 0));
									listener(value);
								});
						return Reflect.get(target, key) as unknown;
					},
				}),
				() => {},
				setImmediate,
				turnWriter(turn),
			);
			try {
				const call = caller();
				const { compare } = comparison(naive);

				/** Asks for all at once, and compares reply by reply. */
				async function run(calls: readonly Call[]): Promise<void> {
					const copies = [...calls];
					const outcomes = await Promise.all(
						calls.map((each) =>
							ask(store, each).then(
								(answer): Outcome => ({ answer: plain(answer) }),
								(error: Error): Outcome => ({ failure: error.message }),
							),
						),
					);
					for (const count of replied.splice(0)) compare(copies.splice(0, count), outcomes.splice(0, count));
					expect(copies).toEqual([]);
				}

				for (const { passes, settled, transactions } of given) {
					call.pass(passes);
					if (settled) await run([call.settle()]);
					const all = transactions.flatMap(({ batches }) => batches.flat());
					await run(all.map((each) => call.of(each, settled)));
					await run([call.settle(), ...call.reads()]);
				}
				await store.close();
				const db = openDatabase({ path });
				expect(contents(db)).toEqual(contents(naive.db));
				db.close();
			} finally {
				await thread.terminate();
				naive.end();
			}
		}),
		{ numRuns: 15, interruptAfterTimeLimit: 60_000 },
	);
});
