/** One endpoint of a store under test, with short calls for what most cases do. */
import { expect } from "vitest";
import type { Job, Submission } from "../../src/kernel/core/jobs/job.ts";
import type { JsonText } from "../../src/kernel/lib/json/json-text.ts";
import type { JobState } from "../../src/kernel/core/jobs/job-states.ts";
import type { JobResult } from "../../src/kernel/core/jobs/job-view.ts";
import type {
	Claim,
	Idempotency,
	JobFilter,
	MoveResult,
	Outcome,
	QueueFull,
} from "../../src/kernel/store/contract/jobs.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { AttemptReconciliation, IdleReconciliation } from "../../src/kernel/store/contract/workers.ts";

/** The moment at which cases begin, in ms. */
export const T0 = 1_800_000_000_000;

/** Durations of the jobs made here, in ms, all different. */
export const TTL = 60_000;
export const TIMEOUT = 40_000;
export const LEASE = 20_000;
export const RETAIN = 1_000_000;
export const RECORD = 5_000_000;

let sites = 0;
let ids = 0;

/** A job id that sorts by age. */
export function nextId(): string {
	ids += 1;
	return `0190a0b0-0000-7000-8000-${ids.toString(16).padStart(12, "0")}`;
}

/** What may differ from the usual when a job is added. */
export type Added = Partial<Submission> & {
	input?: JsonText;
	now?: number;
	queueBound?: number;
	storedBound?: number;
	idempotency?: Idempotency;
	sent?: () => void;
};

/** What may differ from the usual when jobs are claimed. */
export interface Taken {
	worker?: string;
	limit?: number;
	maxBytes?: number;
	now?: number;
}

/** What of a list is asked for. */
export type Listed = JobFilter & {
	erased?: boolean;
	search?: string;
	heads?: boolean;
	count?: boolean;
	cursor?: string | undefined;
	limit?: number;
	now?: number;
};

export type Site = ReturnType<typeof siteOf>;

/** A new endpoint in `store`. Times are `T0` unless given. */
export function siteOf(store: Store) {
	sites += 1;
	const endpoint = `endpoint-${sites}`;
	const submissionOf = (given: Partial<Submission>): Submission => ({
		id: nextId(),
		endpoint,
		operation: "run",
		lowPriority: false,
		ttlMs: TTL,
		executionTimeoutMs: TIMEOUT,
		leaseMs: LEASE,
		retainMs: RETAIN,
		recordMs: RECORD,
		...given,
	});

	const site = {
		store,
		endpoint,

		insert({ input = '{"a":1}', now = T0, queueBound, storedBound, idempotency, sent, ...submission }: Added = {}) {
			return store.jobs.insert({
				submission: submissionOf(submission),
				input,
				now,
				queueBound,
				storedBound,
				idempotency,
				...(sent && { sent }),
			});
		},

		async add(given: Added = {}): Promise<Job> {
			const added = await site.insert(given);
			if (!added.ok) throw new Error(`The submission was refused: ${added.why}.`);
			return added.job;
		},

		take(given: Taken = {}): Promise<Claim> {
			return store.jobs.claim({
				endpoint,
				worker: "w1",
				limit: 1,
				maxBytes: 20_000_000,
				now: T0,
				...given,
			});
		},

		/** Ids that a claim hands out. */
		async takeIds(given: Taken = {}): Promise<string[]> {
			return (await site.take(given)).jobs.map(({ job }) => job.id);
		},

		/** A job that runs at `worker`. */
		async running({ worker = "w1", ...given }: Added & { worker?: string } = {}): Promise<Job> {
			const { id } = await site.add(given);
			const { jobs } = await site.take({ worker, now: given.now ?? T0, limit: 1 });
			const [claimed] = jobs;
			if (claimed?.job.id !== id) throw new Error("Another job was first in the queue.");
			return claimed.job;
		},

		get: (id: string, now = T0): Promise<JobResult | undefined> => store.jobs.get({ endpoint, id, now }),

		async state(id: string, now = T0): Promise<JobState | undefined> {
			return (await site.get(id, now))?.job.state;
		},

		report(
			id: string,
			given: Partial<Outcome> & { worker?: string; release?: number; now?: number } = {},
		): Promise<MoveResult> {
			const { worker = "w1", release, now = T0, on = "complete", ...result } = given;
			return store.jobs.report({ endpoint, id, worker, release, outcome: { on, ...result }, now });
		},

		move(
			id: string,
			on: "cancel" | "release" | "lose" | "retry",
			given: { attempt?: number; over?: boolean; queueBound?: number; now?: number } = {},
		): Promise<MoveResult | QueueFull> {
			return store.jobs.move({ endpoint, id, on, now: T0, ...given });
		},

		ping(
			named: readonly string[],
			given: { worker?: string; handedBefore?: number; intervalMs?: number; now?: number } = {},
		): Promise<AttemptReconciliation> {
			const now = given.now ?? T0;
			return store.workers.ping({
				endpoint,
				worker: "w1",
				named,
				handedBefore: now,
				intervalMs: 0,
				...given,
				now,
			});
		},

		idle: (given: {
			worker?: string;
			before: number;
			dead?: boolean;
			pings?: boolean;
			now?: number;
		}): Promise<IdleReconciliation> => store.workers.idle({ endpoint, worker: "w1", now: T0, ...given }),

		purge: (now = T0): Promise<number> => store.jobs.purge({ endpoint, now }),
		retain: (id: string, retainMs: number, now = T0): Promise<JobResult | undefined> =>
			store.jobs.retain({ endpoint, id, retainMs, now }),
		record: (id: string, now = T0) => store.jobs.record({ endpoint, id, now }),
		cancelAll: (limit = 1000, now = T0) => store.jobs.cancelAll({ endpoint, limit, now }),

		/** One page of the list. */
		list({
			erased = false,
			search,
			heads = false,
			count = false,
			cursor,
			limit = 100,
			now = T0,
			...filter
		}: Listed = {}) {
			const what = { search, heads, count };
			return store.jobs.list({ endpoint, filter, erased, ...what, cursor, limit, now });
		},

		/** Ids of all pages of the list. */
		async listIds(given: Listed = {}): Promise<string[]> {
			const found: string[] = [];
			for (let { cursor } = given; ; ) {
				const { jobs, next } = await site.list({ ...given, cursor });
				found.push(...jobs.map(({ job }) => job.id));
				if (next === undefined) return found;
				cursor = next;
			}
		},

		counts: (now = T0) => store.jobs.counts({ endpoint, now }),
		/** As in the answer about all endpoints. */
		async waiting(now = T0) {
			const all = await store.jobs.oldestWaiting({ now });
			const found = await store.jobs.waiting({ endpoint, now });
			expect(all.filter((each) => each.endpoint === endpoint).map(({ queuedAt }) => queuedAt)).toEqual(
				found.oldestQueuedAt === undefined ? [] : [found.oldestQueuedAt],
			);
			return found;
		},
		attempts: (id: string) => store.jobs.attempts({ endpoint, id }),
		settle: (now: number, limit = 1000, expiries?: number) =>
			store.jobs.settle({ now, limit, ...(expiries !== undefined && { expiries }) }),
	};
	return site;
}

/** Runs a case on a fresh store of its own. */
export async function alone(open: () => Promise<Store>, run: (site: Site) => Promise<void>): Promise<void> {
	const store = await open();
	try {
		await run(siteOf(store));
	} finally {
		await store.close();
	}
}
