/** Sluice's PostgreSQL store, as a server uses it: calls of one turn share a transaction. */
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { version } from "../../src/kernel/version.ts";
import type { JobData, Queue, QueueOptions } from "./queue.ts";

const ENDPOINT = "bench";

/** As the endpoints of a service have them by default, ms. */
const TERMS = {
	endpoint: ENDPOINT,
	operation: "run" as const,
	lowPriority: false,
	ttlMs: 86_400_000,
	executionTimeoutMs: 600_000,
	leaseMs: 20_000,
	retainMs: 1_800_000,
	recordMs: 604_800_000,
};

/** Between two claims of a worker that nothing wakes, ms: for jobs of other processes. */
const CLAIM_MS = 500;
/** Between two sweeps of deadlines and expired results, as in the service, ms. */
const SWEEP_MS = 1000;

export async function startSluice({ url, workers, work }: QueueOptions): Promise<Queue> {
	const store = await openPostgres({ url, clock: systemClock });
	const stopped = new AbortController();
	/** Workers that wait for a job, each with what wakes it. */
	const idle = new Set<() => void>();

	function wake(jobs: number): void {
		let left = jobs;
		for (const rouse of idle) {
			if (left <= 0) return;
			left -= 1;
			idle.delete(rouse);
			rouse();
		}
	}
	store.onSignal((signal) => void (signal.kind === "queued" && wake(1)));

	async function rest(): Promise<void> {
		const woken = new AbortController();
		const rouse = (): void => woken.abort();
		idle.add(rouse);
		stopped.signal.addEventListener("abort", rouse, { once: true });
		await systemClock.sleep(CLAIM_MS, woken.signal);
		stopped.signal.removeEventListener("abort", rouse);
		idle.delete(rouse);
	}

	function report(worker: string, id: string): Promise<unknown> {
		const outcome = { on: "complete" as const, output: "{}" };
		return store.jobs.report({ endpoint: ENDPOINT, id, worker, outcome, now: Date.now() });
	}

	/** The end of a job and the claim of the next one share a transaction. */
	async function runWorker(worker: string): Promise<void> {
		const terms = { endpoint: ENDPOINT, worker, limit: 1, maxBytes: 1_000_000 };
		let ended: string | undefined;
		while (!stopped.signal.aborted) {
			try {
				const reported = ended === undefined ? undefined : report(worker, ended);
				ended = undefined;
				const claim = store.jobs.claim({ ...terms, now: Date.now() });
				const [{ jobs }] = await Promise.all([claim, reported]);
				const [claimed] = jobs;
				if (!claimed) {
					await rest();
					continue;
				}
				await work(JSON.parse(claimed.input as string) as JobData);
				ended = claimed.job.id;
			} catch (error) {
				// The database restarts or ended the connection: the job's lease runs out.
				console.error(error);
				await systemClock.sleep(CLAIM_MS, stopped.signal);
			}
		}
		if (ended !== undefined) await report(worker, ended).catch(console.error);
	}

	async function sweep(): Promise<void> {
		while (!stopped.signal.aborted) {
			await store.jobs.settle({ now: Date.now(), limit: 500 }).catch(console.error);
			await systemClock.sleep(SWEEP_MS, stopped.signal);
		}
	}

	const session = crypto.randomUUID().slice(0, 8);
	const running = [sweep(), ...Array.from({ length: workers }, (_, n) => runWorker(`worker-${session}-${n}`))];
	return {
		version,
		async insert(jobs) {
			const now = Date.now();
			await Promise.all(
				jobs.map((data) =>
					store.jobs.insert({
						submission: { id: crypto.randomUUID(), ...TERMS },
						input: JSON.stringify(data),
						now,
					}),
				),
			);
			wake(jobs.length);
		},
		depth: async () => (await store.jobs.counts({ endpoint: ENDPOINT, now: Date.now() })).inQueue,
		async stop() {
			stopped.abort();
			await Promise.all(running);
			await store.close();
		},
	};
}
