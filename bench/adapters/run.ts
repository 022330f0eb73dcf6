/**
 * The workloads of the public comparison of job queues on PostgreSQL, shortened: Sluice's store,
 * pg-boss and graphile-worker, each by `adapter.ts` on a database of its own, one after another.
 * `node bench/adapters/run.ts [seconds of a phase] [jobs/s] [rounds] [systems, such as sluice]`
 * after `npm ci --prefix bench/cluster`; seven minutes for one round.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { startDatabase } from "../cluster/database.ts";
import { areInstalled } from "../cluster/packages.ts";
import { flushTimes, machine, spread } from "../machine.ts";

const seconds = Number(process.argv[2] ?? 20);
const baseRate = Number(process.argv[3] ?? 500);
const rounds = Number(process.argv[4] ?? 1);
const systems = process.argv[5]?.split(",") ?? ["pgboss", "graphile-worker", "sluice"];
const WORKERS = 64;
const READERS = 4;
const WARM_SECONDS = 8;

/** What happens in a phase next to the producer at `rate` times the base. */
interface Phase {
	name: string;
	rate: number;
	/** Begins a disturbance; returns its end. */
	disturb?: (url: string) => Promise<() => Promise<void>>;
}

/** A transaction that has an id and does nothing: dead rows cannot be removed while it is open. */
async function idleInTransaction(url: string): Promise<() => Promise<void>> {
	const client = new Client(url);
	await client.connect();
	await client.query("BEGIN");
	await client.query("SELECT pg_current_xact_id()");
	return () => client.end();
}

/** Readers that scan the largest tables of the queue again and again, each in a snapshot of its own. */
async function activeReaders(url: string): Promise<() => Promise<void>> {
	let over = false;
	const read = async (): Promise<void> => {
		const client = new Client(url);
		await client.connect();
		const { rows } = await client.query<{ name: string }>(
			"SELECT format('%I.%I', schemaname, relname) AS name FROM pg_stat_user_tables ORDER BY n_tup_ins DESC LIMIT 2",
		);
		while (!over) {
			await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
			for (const { name } of rows) await client.query(`SELECT count(*) FROM ${name}`);
			await sleep(100);
			await client.query("COMMIT");
		}
		await client.end();
	};
	const readers = Array.from({ length: READERS }, read);
	return async () => {
		over = true;
		await Promise.all(readers);
	};
}

const PHASES: readonly Phase[] = [
	{ name: "clean", rate: 1 },
	{ name: "active-readers", rate: 1, disturb: activeReaders },
	{ name: "idle-in-tx", rate: 1, disturb: idleInTransaction },
	{ name: "high-load", rate: 1.5 },
	{ name: "recovery", rate: 1 },
];

interface Sample {
	kind: string;
	metric: string;
	value: number;
	version?: string;
}

/** Starts an adapter; `since` is all that it has said since a time. */
async function startAdapter(system: string, settings: Record<string, string | number>) {
	const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
	const file = fileURLToPath(new URL("adapter.ts", import.meta.url));
	const child = spawn(process.execPath, [file, system], {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, ...Object.fromEntries(texts) },
	});
	const samples: Sample[] = [];
	const descriptor = await new Promise<Sample>((resolve, reject) => {
		createInterface({ input: child.stdout }).on("line", (line) => {
			const sample = JSON.parse(line) as Sample;
			if (sample.kind === "descriptor") resolve(sample);
			else samples.push(sample);
		});
		child.once("exit", (code) => reject(new Error(`The adapter of ${system} ended: ${code}.`)));
	});
	return {
		version: descriptor.version,
		mark: () => samples.length,
		values: (metric: string, from: number): number[] =>
			samples
				.slice(from)
				.filter((sample) => sample.metric === metric)
				.map(({ value }) => value),
		async stop() {
			if (child.exitCode !== null) return;
			child.kill();
			await once(child, "exit");
		},
	};
}

type Adapter = Awaited<ReturnType<typeof startAdapter>>;
type Shown = Record<string, number>;

/** The rate is the mean of the phase, the latencies are those of its last seconds. */
function shownOf(adapter: Adapter, from: number): Shown {
	const last = (metric: string): number => adapter.values(metric, from).at(-1) ?? Number.NaN;
	const rates = adapter.values("completion_rate", from);
	const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
	return {
		perSecond: Math.round(mean),
		claimP50: last("claim_p50_ms"),
		claimP99: last("claim_p99_ms"),
		endP50: last("end_to_end_p50_ms"),
		endP99: last("end_to_end_p99_ms"),
		depth: last("queue_depth"),
	};
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const rateFile = join(folder, "rate");
const database = await startDatabase();

async function deadRows(url: string): Promise<number> {
	const client = new Client(url);
	await client.connect();
	const { rows } = await client.query<{ dead: number }>(
		"SELECT coalesce(sum(n_dead_tup), 0)::float8 AS dead FROM pg_stat_user_tables",
	);
	await client.end();
	return rows[0]!.dead;
}

/** As many jobs as it can, with a thousand waiting; then the phases. */
async function measured(system: string): Promise<{ version: string; phases: Record<string, Shown> }> {
	const common = {
		WORKER_COUNT: WORKERS,
		SAMPLE_EVERY_S: 1,
		LATENCY_WINDOW_S: Math.max(1, seconds - 2),
		PRODUCER_RATE_CONTROL_FILE: rateFile,
	};
	const phases: Record<string, Shown> = {};
	const setRate = (times: number): void => writeFileSync(rateFile, String(baseRate * times));
	setRate(1);

	const { name, url } = await database.create();
	const peak = await startAdapter(system, {
		...common,
		DATABASE_URL: url,
		PRODUCER_MODE: "depth-target",
	});
	await sleep(WARM_SECONDS * 1000);
	const [from, before] = [peak.mark(), await database.work(name)];
	await sleep(seconds * 1000);
	const [shown, after] = [shownOf(peak, from), await database.work(name)];
	const statements = (after.statements - before.statements) / (shown["perSecond"]! * seconds);
	phases["peak"] = { ...shown, statementsPerJob: Number(statements.toFixed(2)) };
	await peak.stop();

	const second = await database.create();
	const steady = await startAdapter(system, { ...common, DATABASE_URL: second.url });
	await sleep(WARM_SECONDS * 1000);
	const adminUrl = database.adminUrl(second.name);
	for (const phase of PHASES) {
		setRate(phase.rate);
		const mark = steady.mark();
		const calm = await phase.disturb?.(adminUrl);
		await sleep(seconds * 1000);
		phases[phase.name] = { ...shownOf(steady, mark), deadRows: await deadRows(adminUrl) };
		await calm?.();
	}
	await steady.stop();
	return { version: String(peak.version), phases };
}

try {
	if (!areInstalled()) throw new Error("Install the other queues: npm ci --prefix bench/cluster");
	const versions: Record<string, string> = {};
	const each = new Map<string, Record<string, Shown>[]>(systems.map((system) => [system, []]));
	for (let round = 0; round < rounds; round += 1)
		for (const system of systems.map((_, place) => systems[(place + round) % systems.length]!)) {
			const { version, phases } = await measured(system);
			versions[system] = version;
			each.get(system)!.push(phases);
			console.error(`${system}: ${JSON.stringify(phases)}`);
		}
	const results = Object.fromEntries(
		[...each].map(([system, all]) => [
			system,
			Object.fromEntries(
				Object.entries(all[0]!).map(([phase, metrics]) => [
					phase,
					Object.fromEntries(
						Object.keys(metrics).map((metric) => [metric, spread(all.map((phases) => phases[phase]![metric]!))]),
					),
				]),
			),
		]),
	);
	const result = {
		bench: "adapters",
		...machine(),
		flushMs: flushTimes(folder),
		postgres: database.facts,
		versions,
		workers: WORKERS,
		baseRate,
		seconds,
		rounds,
		results,
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await database.stop();
	rmSync(folder, { recursive: true, force: true });
}
