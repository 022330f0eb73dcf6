/**
 * What a forgotten transaction costs: the same number of jobs in each window, with their results
 * removed and a VACUUM after it, before, while and after another session holds a snapshot. Pages of all
 * statements for each job (`pg_stat_statements`) do not depend on what else the machine does.
 * `node bench/vacuum-starvation.ts [jobs in a window]`.
 */
import { Client } from "pg";
import { systemClock } from "../src/kernel/system/clock.ts";
import { openPostgres } from "../src/kernel/store/postgres/open.ts";
import type { Store } from "../src/kernel/store/contract/store.ts";
import { startDatabase } from "./cluster/database.ts";
import { machine } from "./machine.ts";

const jobs = Number(process.argv[2] ?? 5000);
const LANES = 32;
const ENDPOINT = "noop";
const RETAIN_MS = 60_000;
const TERMS = {
	lowPriority: false,
	ttlMs: 86_400_000,
	executionTimeoutMs: 600_000,
	leaseMs: 600_000,
	retainMs: RETAIN_MS,
	recordMs: 0,
};
/** Windows before, during and after the snapshot. */
const PHASES = { before: 2, held: 6, after: 2 };

const database = await startDatabase();
const { name, url } = await database.create();
const store: Store = await openPostgres({ url, clock: systemClock });
const admin = new Client(database.adminUrl(name));
const other = new Client(url);
await Promise.all([admin.connect(), other.connect()]);

async function lane(worker: string, count: number): Promise<void> {
	for (let done = 0; done < count; done += 1) {
		const now = Date.now();
		const id = crypto.randomUUID();
		await store.jobs.insert({
			submission: { id, endpoint: ENDPOINT, operation: "run", ...TERMS },
			input: '{"prompt":"a short one"}',
			now,
		});
		const claim = { endpoint: ENDPOINT, worker, limit: 1, maxBytes: 1e6, now };
		for (const { job } of (await store.jobs.claim(claim)).jobs)
			await store.jobs.report({
				endpoint: ENDPOINT,
				id: job.id,
				worker,
				outcome: { on: "complete", output: '{"ok":true}' },
				now,
			});
	}
}

/** Pages and time for each job, then what the table of jobs takes. */
async function measured(phase: string) {
	const before = await database.work(name);
	const began = performance.now();
	await Promise.all(Array.from({ length: LANES }, (_, n) => lane(`w-${n}`, jobs / LANES)));
	const seconds = (performance.now() - began) / 1000;
	const { pages } = await database.work(name);
	const later = Date.now() + 2 * RETAIN_MS;
	while ((await store.jobs.settle({ now: later, limit: 1000 })).settled > 0);
	await admin.query("VACUUM jobs");
	const { rows } = await admin.query<{ mb: number; dead: number }>(
		`SELECT pg_total_relation_size('jobs') / 1e6 AS mb, n_dead_tup::int AS dead
			FROM pg_stat_user_tables WHERE relname = 'jobs'`,
	);
	const found = {
		phase,
		pagesPerJob: Math.round((pages - before.pages) / jobs),
		jobsPerSecond: Math.round(jobs / seconds),
		tableMb: Math.round(Number(rows[0]!.mb) * 10) / 10,
		deadRows: rows[0]!.dead,
	};
	console.error(found);
	return found;
}

try {
	await admin.query("ALTER TABLE jobs SET (autovacuum_enabled = off)");
	const windows = [];
	for (const [phase, count] of Object.entries(PHASES)) {
		if (phase === "held") await other.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queues");
		if (phase === "after") await other.query("COMMIT");
		for (let n = 0; n < count; n += 1) windows.push(await measured(phase));
	}
	const found = {
		bench: "vacuum-starvation",
		...machine(),
		postgres: database.facts,
		jobs,
		windows,
	};
	process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
} finally {
	await Promise.all([admin.end(), other.end()]);
	await store.close();
	await database.stop();
}
