/**
 * A queue under a load, in the protocol of the public comparison of job queues on PostgreSQL
 * (hardbyte/postgresql-job-queue-benchmarking): settings in the environment, one JSON record a line
 * on standard output, until SIGTERM. `node bench/adapters/adapter.ts
 * sluice|pgboss|graphile-worker`
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { latencies } from "./latencies.ts";
import { startGraphileWorker, startPgBoss } from "./others.ts";
import type { JobData, Queue, QueueOptions } from "./queue.ts";
import { startSluice } from "./sluice.ts";

const SYSTEMS: Record<string, (q: QueueOptions) => Promise<Queue>> = {
	sluice: startSluice,
	pgboss: startPgBoss,
	"graphile-worker": startGraphileWorker,
};

/** Between two counts of waiting jobs, ms. */
const DEPTH_MS = 250;
/** After an error of the database, ms. */
const RETRY_MS = 200;

const system = process.argv[2] ?? "";
const start = SYSTEMS[system];
const env = process.env;
const url = env["DATABASE_URL"];
if (!start || !url) {
	console.error(`Usage: DATABASE_URL=postgres://... node bench/adapters/adapter.ts ${Object.keys(SYSTEMS).join("|")}`);
	process.exit(2);
}
const numberOf = (name: string, otherwise: number): number => Number(env[name] ?? otherwise);
const sampleS = numberOf("SAMPLE_EVERY_S", 5);
/** Percentiles are those of so many seconds. */
const windowS = numberOf("LATENCY_WINDOW_S", 30);
const workMs = numberOf("JOB_WORK_MS", 1);
const batchMost = numberOf("PRODUCER_BATCH_MAX", 128);
const batchMs = numberOf("PRODUCER_BATCH_MS", 10);
const targetDepth = numberOf("TARGET_DEPTH", 1000);
const padding = "x".repeat(Math.max(0, numberOf("JOB_PAYLOAD_BYTES", 256) - 60));
const instance = numberOf("BENCH_INSTANCE_ID", 0);
const observes = instance === 0;

const emit = (record: Record<string, unknown>): void =>
	void process.stdout.write(`${JSON.stringify({ instance_id: instance, ...record })}\n`);

/** Jobs a second that are offered; a file may change it. */
function rate(): number {
	const fixed = numberOf("PRODUCER_RATE", 800);
	const file = env["PRODUCER_RATE_CONTROL_FILE"];
	if (!file) return fixed;
	try {
		const read = Number.parseFloat(readFileSync(file, "utf8"));
		return Number.isFinite(read) ? read : fixed;
	} catch {
		return fixed;
	}
}

const now = (): number => Date.now();
const [producing, claiming, ending] = Array.from({ length: 3 }, () => latencies({ now, seconds: windowS }));
let [enqueued, completed, depth, over] = [0, 0, 0, false];

const queue = await start({
	url,
	workers: numberOf("WORKER_COUNT", 32),
	async work({ enqueuedAt }) {
		claiming!.add(now() - enqueuedAt);
		depth -= 1;
		if (workMs > 0) await sleep(workMs);
		ending!.add(now() - enqueuedAt);
		completed += 1;
	},
});
const manifest = JSON.parse(readFileSync(new URL("adapter.json", import.meta.url), "utf8")) as Record<string, unknown>;
emit({
	kind: "descriptor",
	system,
	event_tables: system === "sluice" ? manifest["event_tables"] : [],
	extensions: [],
	version: queue.version,
	schema_version: queue.version,
	db_name: new URL(url).pathname.slice(1),
	started_at: new Date().toISOString(),
});

/** Offers jobs by the time that has passed, or keeps so many waiting. */
async function produce(): Promise<void> {
	let [credit, credited] = [0, performance.now()];
	while (!over) {
		const ticked = performance.now();
		credit += (rate() * (ticked - credited)) / 1000;
		credited = ticked;
		const wanted = env["PRODUCER_MODE"] === "depth-target" ? targetDepth - depth : credit;
		const jobs = Math.min(batchMost, Math.floor(wanted));
		if (jobs < 1) {
			await sleep(batchMs);
			continue;
		}
		const batch = Array.from({ length: jobs }, (): JobData => ({ enqueuedAt: now(), padding }));
		try {
			await queue.insert(batch);
			for (let n = 0; n < jobs; n += 1) producing!.add((performance.now() - ticked) / jobs);
			credit -= jobs;
			enqueued += jobs;
			depth += jobs;
		} catch (error) {
			console.error(error);
			await sleep(RETRY_MS);
		}
	}
}

async function observe(): Promise<void> {
	while (!over) {
		depth = await queue.depth().catch(() => depth);
		await sleep(DEPTH_MS);
	}
}

async function sample(): Promise<void> {
	const everyMs = sampleS * 1000;
	let last = { enqueued, completed, at: performance.now() };
	while (!over) {
		await sleep(everyMs - (now() % everyMs));
		const t = new Date().toISOString();
		const at = performance.now();
		const perSecond = (count: number): number => (count * 1000) / (at - last.at);
		const record = (metric: string, value: number, window_s: number): void =>
			emit({
				t,
				system,
				kind: "adapter",
				subject_kind: "adapter",
				subject: "",
				metric,
				value,
				window_s,
			});
		for (const [name, times] of [
			["producer", producing],
			["claim", claiming],
			["subscriber", claiming],
			["end_to_end", ending],
		] as const)
			times!.at([0.5, 0.95, 0.99]).forEach((ms, n) => {
				record(`${name}_${["p50", "p95", "p99"][n]}_ms`, ms, windowS);
			});
		record("enqueue_rate", perSecond(enqueued - last.enqueued), sampleS);
		record("completion_rate", perSecond(completed - last.completed), sampleS);
		if (observes) record("queue_depth", depth, 0);
		if (observes) record("producer_target_rate", rate(), 0);
		last = { enqueued, completed, at };
	}
}

const running = [produce(), observe()];
void sample();
await new Promise<void>((resolve) => {
	for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => resolve());
});
over = true;
await Promise.all(running);
await Promise.race([queue.stop(), sleep(4000)]);
process.exit(0);
