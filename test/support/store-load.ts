/**
 * Jobs through several PostgreSQL stores at once, while the database crashes: what was acknowledged
 * is remembered here, and held against the database afterwards.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { expect } from "vitest";
import { type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";

const ENDPOINT = "load";
const TERMS = {
	lowPriority: false,
	ttlMs: 86_400_000,
	executionTimeoutMs: 600_000,
	leaseMs: 600_000,
	retainMs: 86_400_000,
	recordMs: 604_800_000,
};

/** How long a lane pauses while the database is unavailable, ms. */
const PAUSE_MS = 2;

export type StoreLoad = ReturnType<typeof storeLoad>;

/**
 * Starts so many lanes at each store. Each submits a job, claims one, which may be another's, and
 * reports its end.
 */
export function storeLoad({ stores, lanes }: { stores: readonly Store[]; lanes: number }) {
	const accepted = new Set<string>();
	const completed = new Set<string>();
	const wrong: string[] = [];
	let unavailable = 0;
	let unsure = 0;
	let over = false;

	/** The answer, or undefined where the database was unavailable. */
	async function step<T>(ask: () => Promise<T>): Promise<T | undefined> {
		try {
			return await ask();
		} catch (error) {
			if (error instanceof StoreUnavailable) {
				unavailable += 1;
				unsure += Number(error.unsure);
				await sleep(PAUSE_MS);
			} else wrong.push(String(error));
			return undefined;
		}
	}

	async function lane({ jobs }: Store, worker: string): Promise<void> {
		while (!over) {
			const now = Date.now();
			const inserted = await step(() =>
				jobs.insert({
					submission: { id: crypto.randomUUID(), endpoint: ENDPOINT, operation: "run", ...TERMS },
					input: "{}",
					now,
				}),
			);
			if (inserted && !inserted.ok) wrong.push(`insert: ${inserted.why}`);
			if (inserted?.ok) accepted.add(inserted.job.id);
			for (const { job } of (await step(() => jobs.claim({ endpoint: ENDPOINT, worker, limit: 1, maxBytes: 1e6, now })))
				?.jobs ?? []) {
				const reported = await step(() =>
					jobs.report({
						endpoint: ENDPOINT,
						id: job.id,
						worker,
						outcome: { on: "complete", output: `"${job.id}"` },
						now,
					}),
				);
				if (reported?.ok) completed.add(job.id);
				else if (reported) wrong.push(`report: ${reported.why}`);
			}
		}
	}

	const running = Promise.all(
		stores.flatMap((store, at) => Array.from({ length: lanes }, (_, n) => lane(store, `w-${at}-${n}`))),
	);

	return {
		accepted,
		/** Resolves when so many more jobs were accepted. */
		async more(jobs: number): Promise<void> {
			const goal = accepted.size + jobs;
			while (accepted.size < goal && wrong.length === 0) await sleep(5);
		},

		/**
		 * Ends all lanes, and fails unless the database holds what was acknowledged, each once. Answers
		 * a sentence about it.
		 */
		async check(url: string): Promise<string> {
			over = true;
			await running;
			const client = new Client({ connectionString: url });
			client.on("error", () => {});
			await client.connect();
			const { rows } = await client.query<{ id: string; state: string; output: string | null }>(
				"SELECT id, state, output FROM jobs WHERE endpoint = $1",
				[ENDPOINT],
			);
			const counted = await client.query(
				"SELECT sum(in_queue)::int AS queued, sum(in_progress)::int AS running, sum(completed)::int " +
					"AS completed FROM queue_counts WHERE endpoint = $1",
				[ENDPOINT],
			);
			await client.end();
			const byId = new Map(rows.map((row) => [row.id, row]));
			const lostJobs = [...accepted].filter((id) => !byId.has(id));
			const lostResults = [...completed].filter((id) => byId.has(id) && byId.get(id)?.output !== `"${id}"`);
			const summary =
				`${accepted.size} jobs and ${completed.size} results acknowledged, ${lostJobs.length} ` +
				`and ${lostResults.length} lost; ${unavailable} times unavailable, ${unsure} of ` +
				"them unknown";
			const count = (state: string): number => rows.filter((row) => row.state === state).length;
			expect(wrong.slice(0, 5), summary).toEqual([]);
			expect([lostJobs.length, lostResults.length], summary).toEqual([0, 0]);
			expect(counted.rows[0], summary).toEqual({
				queued: count("IN_QUEUE"),
				running: count("IN_PROGRESS"),
				completed: count("COMPLETED"),
			});
			return summary;
		},
	};
}
