/**
 * Jobs that do nothing, end to end at 64 in flight: one and two servers of ours on a PostgreSQL,
 * the store alone, a relay that only keeps bodies (the limit), and other queues on the same
 * PostgreSQL (BullMQ on Redis as well), in turn, equally durable. Figures are ratios within a round:
 * the machines are noisy. `node bench/cluster.ts [seconds] [rounds] [names, such as
 * pg-boss,BullMQ-postgres/64]`, after `npm run build` and `npm ci --prefix bench/cluster`.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBullmq } from "./cluster/bullmq.ts";
import type { Contender, Run } from "./cluster/contender.ts";
import { startDatabase } from "./cluster/database.ts";
import { startGraphileWorker } from "./cluster/graphile-worker.ts";
import { areInstalled } from "./cluster/packages.ts";
import { startPgBoss } from "./cluster/pg-boss.ts";
import { startRedis } from "./cluster/redis.ts";
import { startRelay } from "./cluster/relay.ts";
import { startSluice } from "./cluster/sluice-servers.ts";
import { startSluiceStore } from "./cluster/sluice-store.ts";
import { flushTimes, machine, median } from "./machine.ts";

const seconds = Number(process.argv[2] ?? 5);
const rounds = Number(process.argv[3] ?? 5);
const only = process.argv[4]?.split(",");
const IN_FLIGHT = 64;
/**
 * Long enough for compilers, caches and plans to settle: what is measured has run for days where it
 * is used.
 */
const WARM_SECONDS = 6;

/** A database and a folder of its own, for all rounds. */
interface Home {
	name: string;
	url: string;
	folder: string;
}

interface Entry {
	name: string;
	start(home: Home): Promise<Contender>;
}

/** What a round of one showed. `statements` is for each job, at PostgreSQL. */
interface Shown extends Run {
	version: string;
	statements: number;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const database = await startDatabase();
const redis = await startRedis(folder);
if (!areInstalled())
	console.error("The other queues are left out: they are installed by 'npm ci --prefix bench/cluster'.");
else if (!redis)
	console.error("BullMQ on Redis is left out: there is no redis-server (Debian: apt-get install redis-server).");

const ONE = "Sluice/1";
const TWO = "Sluice/2";
const RELAY = "relay";
const onPostgres: Entry[] = [
	{ name: "pg-boss", start: ({ url }) => startPgBoss(url) },
	{ name: "graphile-worker", start: ({ url }) => startGraphileWorker(url) },
	...[64, 16].map((concurrency) => ({
		name: `BullMQ-postgres/${concurrency}`,
		start: ({ url }: Home) => startBullmq({ url, concurrency }),
	})),
];
const onRedis: Entry[] = redis
	? [64, 16].map((concurrency) => ({
			name: `BullMQ-redis/${concurrency}`,
			start: () => startBullmq({ port: redis.port, concurrency }),
		}))
	: [];
const ours: Entry[] = [
	{ name: ONE, start: ({ url, folder: place }) => startSluice({ url, servers: 1, folder: place }) },
	{ name: TWO, start: ({ url, folder: place }) => startSluice({ url, servers: 2, folder: place }) },
	{ name: "Sluice/store", start: ({ url }) => startSluiceStore(url) },
	{ name: RELAY, start: ({ url }) => startRelay(url) },
];
const entries = [...(areInstalled() ? [...onPostgres, ...onRedis] : []), ...ours].filter(
	({ name }) => only?.includes(name) ?? true,
);

/** Starts one, warms it, measures it and ends it: whoever is not measured does not run. */
async function measured({ start }: Entry, home: Home): Promise<Shown> {
	const contender = await start(home);
	try {
		await contender.run({ seconds: WARM_SECONDS, inFlight: IN_FLIGHT });
		await database.checkpoint();
		const before = await database.work(home.name);
		const run = await contender.run({ seconds, inFlight: IN_FLIGHT });
		const after = await database.work(home.name);
		return {
			...run,
			version: contender.version,
			statements: (after.statements - before.statements) / run.jobs,
		};
	} finally {
		await contender.stop();
	}
}

/**
 * Ratios of one to the best of others, one for each round and their median; undefined where one of
 * them was left out.
 */
function ratio(one: string, others: readonly string[]): { median: number; each: number[] } | undefined {
	const runs = shown.get(one);
	const rates = others.map((name) => shown.get(name) ?? []);
	if (!runs || rates.length === 0 || rates.some((each) => each.length === 0)) return undefined;
	const each = runs.map(({ perSecond }, round) =>
		Number((perSecond / Math.max(...rates.map((rate) => rate[round]!.perSecond))).toFixed(2)),
	);
	return { median: median(each), each };
}

const shown = new Map<string, Shown[]>(entries.map(({ name }) => [name, []]));
try {
	const flushMs = flushTimes(folder);
	const homes = new Map<string, Home>();
	for (const { name } of entries) {
		const place = join(folder, `home-${homes.size}`);
		mkdirSync(place);
		homes.set(name, { ...(await database.create()), folder: place });
	}
	for (let round = 0; round < rounds; round += 1) {
		// Each begins once: what one leaves behind, such as work for autovacuum, does not always meet
		// the same one.
		const turn = entries.map((_, place) => entries[(place + round) % entries.length]!);
		for (const entry of turn) {
			const run = await measured(entry, homes.get(entry.name)!);
			shown.get(entry.name)!.push(run);
			console.error(`round ${round + 1}: ${entry.name} ${run.perSecond}/s`);
		}
	}
	const measuredOf = (some: readonly Entry[]): string[] =>
		some.filter((entry) => entries.includes(entry)).map(({ name }) => name);
	const contenders = [...shown].map(([name, runs]) => ({
		name,
		version: runs[0]?.version,
		jobsPerSecond: median(runs.map((run) => run.perSecond)),
		each: runs.map((run) => run.perSecond),
		p50Ms: median(runs.map((run) => run.p50)),
		p99Ms: median(runs.map((run) => run.p99)),
		...(!name.startsWith("BullMQ-redis") && {
			statementsPerJob: Number(median(runs.map((run) => run.statements)).toFixed(2)),
		}),
	}));
	const result = {
		bench: "cluster",
		...machine(),
		flushMs,
		postgres: database.facts,
		redis: redis ? { version: redis.version, appendfsync: "always" } : "none",
		inFlight: IN_FLIGHT,
		seconds,
		contenders,
		oneToBestOther: ratio(ONE, measuredOf([...onPostgres, ...onRedis])),
		oneToBestOtherOnPostgres: ratio(ONE, measuredOf(onPostgres)),
		twoToOne: ratio(TWO, [ONE]),
		oneToRelay: ratio(ONE, [RELAY]),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await redis?.stop();
	await database.stop();
	rmSync(folder, { recursive: true, force: true });
}
