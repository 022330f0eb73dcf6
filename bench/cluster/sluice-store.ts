/**
 * The store by itself, where the other queues are measured: in the process of who submits, no HTTP,
 * no worker process.
 */
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { version } from "../../src/kernel/version.ts";
import { closedLoop, type Contender, INPUT } from "./contender.ts";

export async function startSluiceStore(url: string): Promise<Contender> {
	const store = await openPostgres({ url, clock: systemClock });
	const [endpoint, worker] = ["noop", "worker-0001"];
	const input = JSON.stringify(INPUT);
	const terms = {
		lowPriority: false,
		ttlMs: 86_400_000,
		executionTimeoutMs: 600_000,
		leaseMs: 20_000,
		retainMs: 1_800_000,
		recordMs: 604_800_000,
	};
	return {
		version,
		run: (q) =>
			closedLoop({
				...q,
				async job() {
					await store.jobs.insert({
						submission: { id: crypto.randomUUID(), endpoint, operation: "run", ...terms },
						input,
						now: Date.now(),
						queueBound: 100_000,
					});
					const { jobs } = await store.jobs.claim({
						endpoint,
						worker,
						limit: 1,
						maxBytes: 20_000_000,
						now: Date.now(),
					});
					// The job of another lane, perhaps: each takes one and ends one.
					const id = jobs[0]?.job.id;
					if (id === undefined) throw new Error("There was no job to claim.");
					const told = await store.jobs.report({
						endpoint,
						id,
						worker,
						outcome: { on: "complete", output: '{"ok":true}' },
						now: Date.now(),
					});
					if (!told.ok) throw new Error(`The report of a job was refused: ${told.why}.`);
				},
			}),
		stop: () => store.close(),
	};
}
