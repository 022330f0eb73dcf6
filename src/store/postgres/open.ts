/** Opens a store in a PostgreSQL database, which several servers may do at once. */
import { randomInt } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { Answer, Query } from "../operations.ts";
import { StoreUnavailable } from "../contract/store.ts";
import type { Store } from "../contract/store.ts";
import { openSessionLiveness } from "./rows/session-liveness.ts";
import { openBatches } from "./batch.ts";
import type { SharedOp } from "./batch.ts";
import { openCluster } from "./cluster.ts";
import { addressOf, openDatabase } from "./connection/database.ts";
import { openEndpoints } from "./endpoints.ts";
import { openKeys, openTokens } from "./keys.ts";
import { openLimits } from "./limits.ts";
import { openList } from "./list.ts";
import { openMeta } from "./meta.ts";
import { openMetrics } from "./metrics.ts";
import { openBarrier } from "./connection/barrier.ts";
import { openRankAllocator } from "./rows/rank-allocator.ts";
import { timeoutRunner } from "./connection/timeouts.ts";
import { openQueueMemories } from "./rows/queues.ts";
import { openReads } from "./reads.ts";
import { prepareSchema } from "./schema.ts";
import { openSignals } from "./signals.ts";
import { isStorable } from "./rows/storable.ts";
import { openSweeps } from "./sweeps.ts";
import { openWebhooks } from "./webhooks.ts";
import { openWorkerRows } from "./rows/worker-rows.ts";

/** How a store is opened. */
export interface PostgresOptions {
	/** `postgres://user:password@host:port/database` */
	url: string;
	clock: Clock;
	/** Key of the secrets in it, 32 bytes: all servers have the same (D22). */
	sealKey: Uint8Array;
}

/** Longest wait for an answer about servers and limits, ms. */
const PROMPT_MS = 2000;

/** Sessions are told apart by a random number. */
const MOST_SESSIONS = 2 ** 31 - 1;

/**
 * Opens the store, brings its schema up to date, and connects. Throws `StoreUnavailable` when the
 * database cannot be reached, and an Error with a sentence for the operator when it is not a store,
 * is newer than this version, or was made with another `sealKey`.
 */
export async function openPostgres({ url, clock, sealKey }: PostgresOptions): Promise<Store> {
	await prepareSchema({ url });
	const { name } = addressOf(url);
	const session = randomInt(1, MOST_SESSIONS);
	const database = openDatabase({ url, clock });
	const control = database.another();
	const counting = database.another();
	const signals = openSignals({ clock, session, database });
	const order = openBarrier();
	let closed = false;

	async function close(): Promise<void> {
		closed = true;
		await batches.close();
		// While these end, it is watched whether the database answers.
		await database.close();
		await Promise.all([signals, control, counting].map((each) => each.close()));
	}

	const kept = {
		memories: openQueueMemories(),
		places: openRankAllocator(),
		session,
		absences: openSessionLiveness(clock),
	};
	const { hints } = signals;
	const batches = openBatches({ database, clock, kept, hints });
	const sweeps = openSweeps({ database, kept, hints });
	const reads = openReads({ database, sweeps });
	const tellOthers = (signal: Parameters<typeof hints.others>[0][number]): void =>
		hints.others([signal]);
	const signal = (told: Parameters<typeof hints.own>[0][number]): void => hints.own([told]);
	let meta: Awaited<ReturnType<typeof openMeta>>;
	try {
		await Promise.all([database, control, counting].map((each) => each.open()));
		meta = await openMeta({ database, sealKey });
	} catch (error) {
		await close();
		throw error;
	}

	/** The operation, for those whose ids the database can hold: nothing is found by others. */
	const shared =
		<N extends SharedOp>(op: N) =>
		(q: Query<N>): Promise<Answer<N>> =>
			order.after(() => batches.call(op, q));
	const open =
		<Q extends unknown[], A>(ask: (...q: Q) => Promise<A>) =>
		async (...q: Q): Promise<A> => {
			if (closed) throw new StoreUnavailable("closed", "The store is closed.");
			return await order.after(() => ask(...q));
		};
	const found = <Q extends { id: string }, A>(ask: (q: Q) => Promise<A>) =>
		open(async (q: Q): Promise<A | undefined> => (isStorable(q.id) ? await ask(q) : undefined));
	const reserveOnce = shared("chunks.reserve");
	const reserve: typeof reserveOnce = async (q) => {
		await signals.shown();
		const found = await reserveOnce(q);
		// Others' readers may be over with their server: then the range is free.
		return found?.busy && (await kept.absences.settled()) ? await reserveOnce(q) : found;
	};
	const list = openList({ database, sweeps });
	const cluster = openCluster({
		prompt: timeoutRunner({ connection: control, name, clock, silentMs: PROMPT_MS }),
		read: database.read,
		tellOthers,
	});
	const { put, list: listWorkers, remove } = openWorkerRows({ database });

	return {
		jobs: {
			insert: shared("jobs.insert"),
			claim: shared("jobs.claim"),
			report: shared("jobs.report"),
			progress: shared("jobs.progress"),
			move: shared("jobs.move"),
			retain: shared("jobs.retain"),
			get: found(reads.get),
			record: found(reads.record),
			attempts: open(reads.attempts),
			running: open(reads.running),
			unstopped: open(reads.unstopped),
			counts: open(reads.counts),
			allCounts: open(reads.allCounts),
			waiting: open(reads.waiting),
			list: open(list),
			purge: shared("jobs.purge"),
			cancelAll: open(sweeps.cancelAll),
			settle: open(sweeps.settle),
			extendAll: (q) => order.first(() => sweeps.extendAll(q)),
		},
		chunks: {
			append: shared("chunks.append"),
			read: found(reads.read),
			reserve,
			deliver: shared("chunks.deliver"),
		},
		endpoints: openEndpoints({ database, tellOthers, settle: sweeps.settle }),
		workers: {
			put,
			list: listWorkers,
			remove,
			ping: shared("workers.ping"),
			idle: shared("workers.idle"),
			renew: shared("workers.renew"),
		},
		tokens: openTokens({ database, tellOthers }),
		keys: openKeys({ database, tellOthers }),
		webhooks: openWebhooks({ database, signal, tellOthers }),
		metrics: openMetrics({ database }),
		cluster: {
			...cluster,
			async beat(q) {
				const answer = await cluster.beat(q);
				if (answer) signals.setAlone(answer.servers.length <= 1);
				return answer;
			},
		},
		limits: openLimits({
			run: timeoutRunner({ connection: counting, name, clock, silentMs: PROMPT_MS }),
		}),
		identity: meta.identity,
		ping: open(meta.ping),
		onSignal: signals.onSignal,
		close,
	};
}
