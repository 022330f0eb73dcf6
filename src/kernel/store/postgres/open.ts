import { randomInt, randomUUID } from "node:crypto";
import type { Clock } from "../../system/clock.ts";
import type { Answer, Operation, OpName, Query } from "../operations/operation.ts";
import {
	type AllDialectMethods,
	memberOf,
	OPERATIONS,
	type SharedReadName,
	type SharedWriteName,
	storeOf,
	withSentCallback,
} from "../operations/table.ts";
import { type Signal, type Store, StoreUnavailable } from "../contract/store.ts";
import { type CheckKey, CHECK_NAME } from "../../secrets/key-check.ts";
import { openSessionLiveness } from "./connection/session-liveness.ts";
import { type BatchedName, Batches } from "./queries/batch.ts";
import { openCluster } from "./queries/cluster.ts";
import { addressOf, openDatabase, type Database } from "./connection/database.ts";
import { openEndpoints } from "./queries/endpoints.ts";
import { openList } from "./queries/list.ts";
import { openBarrier } from "./connection/barrier.ts";
import { RankAllocator, QueueMemories } from "./rows/queue-memories.ts";
import { STATEMENT_MS } from "./connection/connection.ts";
import { timeoutRunner } from "./connection/timeouts.ts";
import { openPieces } from "./queries/pieces.ts";
import { openReads } from "./queries/reads.ts";
import { openSecrets } from "./queries/secrets.ts";
import { prepareSchema } from "./schema.ts";
import { openSignals } from "./signals.ts";
import { openSweeps } from "./queries/sweeps.ts";
import { openWebhooks } from "./queries/webhooks.ts";
import { tableMethod } from "./tables.ts";
import { statement } from "./connection/statement.ts";

interface PostgresOptions {
	url: string;
	clock: Clock;
	/** Checks that all servers have the same key (D22). */
	checkKey?: CheckKey | undefined;
}

/** Timeout of cluster statements, ms. */
const PROMPT_MS = 2000;

const MOST_SESSIONS = 2 ** 31 - 1;

/**
 * Opens the store. Throws `StoreUnavailable` when the database is unreachable, an Error for the operator when it is not
 * a store or is newer than this version, and the error of `checkKey`.
 */
export async function openPostgres({ url, clock, checkKey }: PostgresOptions): Promise<Store> {
	await prepareSchema({ url });
	const { name } = addressOf(url);
	const session = randomInt(1, MOST_SESSIONS);
	const database = openDatabase({ url, clock });
	const control = database.another();
	const uploads = database.another();
	const signals = openSignals({ clock, session, database });
	const barrier = openBarrier();
	let closed = false;

	async function close(): Promise<void> {
		closed = true;
		await batches.close();
		// The signals connection still monitors the database until these end.
		await database.close();
		await Promise.all([signals, control, uploads].map((each) => each.close()));
	}

	const server = {
		queueMemories: new QueueMemories(),
		ranks: new RankAllocator(),
		session,
		sessions: openSessionLiveness(clock),
	};
	const { notify } = signals;
	const batches = new Batches({ database, clock, server, notify });
	const sweeps = openSweeps(database, server, notify);
	const reads = openReads(database, sweeps);
	const notifyOthers = (signal: Signal): void => notify.others([signal]);
	const signal = (each: Signal): void => notify.own([each]);
	const tables = { database, signal, notifyOthers };
	let meta: Awaited<ReturnType<typeof openMeta>>;
	try {
		await Promise.all([database, control].map((each) => each.open()));
		meta = await openMeta({ database, checkKey });
	} catch (error) {
		await close();
		throw error;
	}

	const open =
		<Q extends unknown[], A>(ask: (...q: Q) => Promise<A>) =>
		async (...q: Q): Promise<A> => {
			if (closed) throw new StoreUnavailable("closed", "The store is closed.");
			return await barrier.after(() => ask(...q));
		};
	const batched =
		<N extends BatchedName>(name: N) =>
		(q: Query<N>): Promise<Answer<N>> =>
			barrier.after(() => batches.call(name, q));
	const cluster = openCluster(timeoutRunner(control, name, clock, PROMPT_MS), database.read, notifyOthers);
	const own: AllDialectMethods = {
		jobs: {
			claim: batched("jobs.claim"),
			purge: batched("jobs.purge"),
			running: open(reads.own.running),
			unstopped: open(reads.own.unstopped),
			counts: open(reads.own.counts),
			allCounts: open(reads.own.allCounts),
			stored: open(reads.own.stored),
			oldestWaiting: open(reads.own.oldestWaiting),
			waiting: open(reads.own.waiting),
			list: open(openList(database, sweeps)),
			cancelAll: open(sweeps.cancelAll),
			settle: open(sweeps.settle),
			extendAll: (q) => barrier.first(() => sweeps.extendAll(q)),
		},
		endpoints: openEndpoints({ ...tables, settle: sweeps.settle }),
		webhooks: openWebhooks(tables),
		secrets: openSecrets(database, notifyOthers),
		identity: meta.identity,
		ping: open(meta.ping),
	};

	function method(name: OpName): (q: never) => Promise<unknown> {
		const operation = OPERATIONS[name] as Operation<OpName>;
		if (operation.work) return tableMethod(operation, tables);
		const { apply, kind } = operation;
		if (!apply) return memberOf(own, name) as (q: never) => Promise<unknown>;
		return kind === "read"
			? open((q: never) => reads.shared(name as SharedReadName, q))
			: batched(name as SharedWriteName);
	}

	// The gate of the store's health is around these calls (`engine/availability/store-health.ts`).
	const operations = withSentCallback(storeOf(method));
	const { reserve } = operations.chunks;

	return {
		...operations,
		chunks: {
			...operations.chunks,
			async reserve(q) {
				await signals.shown();
				const found = await reserve(q);
				// If the server of another reader has ended, the range is free.
				return found?.busy && (await server.sessions.settled()) ? await reserve(q) : found;
			},
		},
		cluster: {
			...cluster,
			async beat(q) {
				const answer = await cluster.beat(q);
				if (answer) signals.setAlone(answer.servers.length <= 1);
				return answer;
			},
		},
		pieces: openPieces(timeoutRunner(uploads, name, clock, STATEMENT_MS)),
		load: () => ({
			commitMs: batches.commitMs,
			commitSizes: batches.commitSizes,
			waiting: batches.waiting,
			lockTimeouts: batches.lockTimeouts,
			statements: { ...database.pending(), control: control.pending },
		}),
		onSignal: signals.onSignal,
		close,
	};
}

/** Bytes of the trial write: more than a page, since values of `meta` are not compressed. */
const TRIAL_BYTES = 16_384;

const KEEP = statement("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING");
const KEPT = statement("SELECT value FROM meta WHERE name = $1");
const FILL = statement("INSERT INTO meta (name, value) VALUES ($1, $2)");
const EMPTY = statement("DELETE FROM meta WHERE name = $1");

type Meta = Pick<Store, "identity" | "ping">;

/** Creates the identity of a new store, and stores the check value of its first key (D22). */
export async function openMeta({
	database,
	checkKey,
}: {
	database: Database;
	checkKey: CheckKey | undefined;
}): Promise<Meta> {
	function keep(name: string, value: string): Promise<string> {
		return database.write(async ({ run }) => {
			await run(KEEP, [name, value]);
			return String((await run(KEPT, [name])).rows[0]?.[0]);
		});
	}

	const identity = await keep("identity", randomUUID().replaceAll("-", ""));
	if (checkKey) {
		const stored = (await database.read.run(KEPT, [CHECK_NAME])).rows[0]?.[0];
		const check = stored === undefined ? undefined : String(stored);
		const own = checkKey({ identity, check });
		// Another server that starts at the same time may have stored the check value of another key.
		if (check === undefined) checkKey({ identity, check: await keep(CHECK_NAME, own) });
	}

	return {
		identity: async () => identity,
		async ping() {
			// Each ping writes a new row, so that concurrent pings do not wait for each other.
			const name = `trial ${randomUUID()}`;
			await database.write(async ({ run }) => {
				await run(FILL, [name, "0".repeat(TRIAL_BYTES)]);
				await run(EMPTY, [name]);
			});
		},
	};
}
