/**
 * What one job costs in each store: rows and index entries, bytes of the log, statements, bytes to and
 * from the database, processor time, with 1 and with 64 jobs in flight. Prints JSON; each figure is for
 * one job, median and spread of the rounds. `node bench/job-cost.ts [--jobs 1500] [--rounds 1] [--store
 * sqlite] [--checkout FOLDER]`, after `npm run build` there; 90 s with one round. Needs Linux, `ss`, and
 * in SLUICE_TEST_POSTGRES_PROGRAMS a PostgreSQL with `pg_waldump`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { startPostgres } from "../test/support/postgres-server.ts";
import { ENDPOINTS, type Jobs, KINDS, openJobs, PAYLOAD_BYTES } from "./job-cost/jobs.ts";
import { divided, type Figures, type Meter } from "./job-cost/meter.ts";
import { postgresMeter, SETTINGS } from "./job-cost/postgres-meter.ts";
import { sqliteMeter } from "./job-cost/sqlite-meter.ts";
import { waldump } from "./job-cost/wal.ts";
import { machine, type Spread, spread } from "./machine.ts";
import { end, KEY, type startService } from "./processes.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
	options: {
		jobs: { type: "string", default: "1500" },
		rounds: { type: "string", default: "1" },
		store: { type: "string" },
		checkout: { type: "string", default: ROOT },
	},
});
const most = Number(values.jobs);
const rounds = Number(values.rounds);
const checkout = resolve(values.checkout);
const from = (await import(pathToFileURL(join(checkout, "bench/processes.ts")).href)) as {
	startService: typeof startService;
};

/** Of each measurement, at most. */
const SECONDS = 2;
/** Until compilers and caches have settled; a slow machine gets more time for it. */
const WARM_UP = { inFlight: 64, most: 6000, seconds: 10 };
const IDLE_SECONDS = 3;

/** A service on one store, and its workers. */
interface Place {
	jobs: Jobs;
	meter: Meter;
	vacuum?: () => Promise<unknown>;
	close(): Promise<void>;
}

async function startWorker(url: string, endpoint: string): Promise<ChildProcess> {
	const path = `/v1/endpoints/${endpoint}/worker-env?url=${encodeURIComponent(url)}`;
	const answer = await fetch(url + path, { method: "POST", headers: { authorization: `Bearer ${KEY}` } });
	const { env } = (await answer.json()) as { env: Record<string, string> };
	const worker = join(ROOT, "bench/job-cost/worker.ts");
	return spawn(process.execPath, [worker], {
		stdio: ["ignore", "ignore", "inherit"],
		env: { ...process.env, ...env },
	});
}

async function start(store: string): Promise<Place> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
	const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
	const close = async (): Promise<void> => {
		for (const step of closing.toReversed()) await step();
	};
	try {
		const server = store === "postgres" ? await startPostgres({ settings: SETTINGS }) : undefined;
		closing.push(() => server?.remove());
		const database = await server?.createDatabase();
		const external = { launcher: { type: "external" }, limits: "off" };
		const endpoints = Object.entries(ENDPOINTS).map(([id, own]) => [id, { ...external, ...own }]);
		const service = await from.startService(folder, {
			...(database && { store: database.url }),
			file: { endpoints: Object.fromEntries(endpoints), webhooks: { allowPrivateNetworks: true } },
		});
		closing.push(() => end(service.child));
		for (const endpoint of Object.keys(ENDPOINTS)) {
			const worker = await startWorker(service.url, endpoint);
			closing.push(() => end(worker));
		}
		const jobs = await openJobs(service.url);
		closing.push(() => jobs.end());
		await jobs.run("run", WARM_UP);
		for (const kind of KINDS) await jobs.run(kind, { inFlight: 16, most: 64, seconds: SECONDS });
		const pid = service.child.pid!;
		if (!server || !database) return { jobs, meter: sqliteMeter(pid), close };
		const meter = await postgresMeter({ server, database: database.name, pid });
		closing.push(() => meter.end());
		return { jobs, meter, vacuum: meter.vacuum, close };
	} catch (error) {
		await close();
		throw error;
	}
}

/** The costs of each kind of job, for one; of a second without work; of `VACUUM` after all of them. */
async function measure({ jobs, meter, vacuum }: Place): Promise<Figures> {
	const costs: Figures = {};
	let all = 0;
	for (const inFlight of [1, 64]) {
		for (const kind of KINDS) {
			const stop = await meter.begin();
			const ran = await jobs.run(kind, { inFlight, most: inFlight === 1 ? most / 5 : most, seconds: SECONDS });
			const cost = divided(await stop(), ran.jobs);
			costs[`${kind}, ${inFlight} in flight`] = {
				jobs: ran.jobs,
				perSecond: ran.jobs / ran.seconds,
				bytesPerPayloadByte: Number(cost["walBytes"] ?? cost["bytesWritten"]) / PAYLOAD_BYTES,
				...cost,
			};
			all += ran.jobs;
		}
	}
	const idle = await meter.begin();
	await sleep(IDLE_SECONDS * 1000);
	costs["a second without jobs"] = divided(await idle(), IDLE_SECONDS);
	if (!vacuum) return costs;
	const stop = await meter.begin();
	await vacuum();
	costs["vacuum, for each job before"] = divided(await stop(), all);
	return costs;
}

/** Median and spread of each number. */
function together(runs: readonly Figures[]): Record<string, unknown> {
	const names = new Set(runs.flatMap((run) => Object.keys(run)));
	return Object.fromEntries(
		[...names].map((name): [string, unknown] => {
			const found = runs.map((run) => run[name]);
			if (found.some((each) => typeof each === "object"))
				return [name, together(found.map((each) => (each ?? {}) as Figures))];
			return [name, spread(found.map((each) => (each as number | undefined) ?? 0)) satisfies Spread];
		}),
	);
}

const stores = values.store ? [values.store] : ["sqlite", "postgres"];
if (stores.includes("postgres")) waldump();
const result: Record<string, unknown> = {
	bench: "job-cost",
	...machine(),
	commit: execFileSync("git", ["-C", checkout, "describe", "--always", "--dirty"], { encoding: "utf8" }).trim(),
	payloadBytes: PAYLOAD_BYTES,
	rounds,
};
for (const store of stores) {
	const runs: Figures[] = [];
	for (let round = 0; round < rounds; round += 1) {
		const place = await start(store);
		try {
			runs.push(await measure(place));
		} finally {
			await place.close();
		}
	}
	result[store] = together(runs);
}
process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
