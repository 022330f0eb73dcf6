/**
 * How the rate of jobs that do nothing grows with cores, on each store, and what the processor does meanwhile. Service
 * and database are pinned to the first 1, 2, 4 ... cores; workers and load to the others, and to all where none is
 * left. `node bench/cores.ts [--cores 1,2] [--in-flight 64,256] [--store postgres] [--servers 1,2] [--workers 1]
 * [--seconds 5] [--rounds 1]`, after `npm run build`; several servers on PostgreSQL only. Prints JSON; about 8 s a
 * point. Needs Linux, `taskset` and `wrk`.
 */
import { type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { serverPid } from "../test/support/postgres-folder.ts";
import { startPostgres } from "../test/support/postgres-server.ts";
import { allowedCores, pin } from "./cores/pinning.ts";
import { measureUse, type Pids, type Use } from "./cores/use.ts";
import { flushTimes, machine, median, spread } from "./machine.ts";
import { end, KEY, startService, startWorker } from "./processes.ts";
import { shoot } from "./wrk.ts";

const all = allowedCores();
const powers = [1, 2, 4, 8, 16, 32, 64].filter((count) => count < all.length);
const { values } = parseArgs({
	options: {
		cores: { type: "string", default: [...powers, all.length].join() },
		"in-flight": { type: "string", default: "64,256" },
		store: { type: "string", default: "sqlite,postgres" },
		servers: { type: "string", default: "1" },
		workers: { type: "string", default: "1" },
		seconds: { type: "string", default: "5" },
		rounds: { type: "string", default: "1" },
	},
});
const numbers = (text: string): number[] => text.split(",").map(Number);
const counts = numbers(values.cores).filter((count) => count <= all.length);
const lanes = numbers(values["in-flight"]);
const [seconds, rounds, workers] = [Number(values.seconds), Number(values.rounds), Number(values.workers)];
/** Before the first measurement of a service, s. */
const WARM_UP = 4;
/** A thread or process that uses this much of a core, or cores of which this much is used, are the limit. */
const FULL = 0.93;

const SETTINGS = { shared_buffers: "512MB", max_wal_size: "4GB", max_connections: "300" };
const BODY = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const HEADERS = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
// One worker can have all of them.
process.env["NOOP_CONCURRENCY"] = String(Math.max(...lanes));

interface Setup {
	store: string;
	servers: number;
	/** Of service and database. */
	cores: number;
}

interface Point extends Setup {
	/** Workers and load are pinned to cores of their own, or use those of the service too. */
	load: "own cores" | "same cores";
	inFlight: number;
	perSecond: number;
	p50Ms: number;
	p99Ms: number;
	/** By group of threads, in cores. */
	use: Record<string, Use>;
	/** Cores of service and database; of workers and load. */
	idle: { service: number; load: number };
	/** Cores of the machine that programs of others, and its hypervisor, used meanwhile. */
	others: number;
	waitingForDisk: number;
	wall: string;
}

/** The busiest thread, if it is full; all cores; or neither, where jobs wait for each other's round trips. */
function wallOf(
	use: Record<string, Use>,
	{ cores, idle, others }: Pick<Point, "cores" | "others"> & { idle: number },
): string {
	if (others > (1 - FULL) * all.length) return "other programs use the cores";
	const [[name, most]] = Object.entries(use).toSorted(([, a], [, b]) => b.busiest - a.busiest) as [[string, Use]];
	if (most.busiest >= FULL) return name;
	return idle <= (1 - FULL) * cores ? "all cores are busy" : "no thread is full, cores are idle";
}

async function measure(setup: Setup, folder: string): Promise<Point[]> {
	const closing: (() => unknown)[] = [];
	const own = all.slice(0, setup.cores);
	const rest = all.length > setup.cores ? all.slice(setup.cores) : all;
	try {
		pin(own);
		closing.push(() => pin(all));
		const server = setup.store === "postgres" ? await startPostgres({ settings: SETTINGS }) : undefined;
		closing.push(() => server?.remove());
		const store = (await server?.createDatabase())?.url;
		const services: { url: string; child: ChildProcess }[] = [];
		for (let number = 0; number < setup.servers; number += 1) {
			const place = join(folder, `${setup.store}-${setup.cores}-${number}`);
			mkdirSync(place);
			closing.push(() => rmSync(place, { recursive: true }));
			const service = await startService(place, store ? { store } : {});
			closing.push(() => end(service.child));
			services.push(service);
		}
		pin(rest);
		const workerPids: number[] = [];
		for (let number = 0; number < workers || number < setup.servers; number += 1) {
			const worker = await startWorker(services[number % setup.servers]!.url);
			closing.push(() => end(worker));
			workerPids.push(worker.pid!);
		}
		const load = async (inFlight: number, time: number) => {
			const shots = services.map(({ url }) =>
				shoot(
					{ url: `${url}/v2/noop/runsync`, body: BODY, headers: HEADERS },
					{ connections: inFlight / setup.servers, seconds: time },
				),
			);
			const loads = await Promise.all(shots);
			if (loads.some(({ refused }) => refused > 0)) throw new Error("jobs were refused or not answered");
			return loads;
		};
		const pids: Pids = {
			services: services.map(({ child }) => child.pid!),
			...(server && { postgres: serverPid(server.dataDir)! }),
			workers: workerPids,
		};
		await load(Math.max(...lanes), WARM_UP);
		const points: Point[] = [];
		for (const inFlight of lanes) {
			const measured = measureUse(pids);
			const loads = await load(inFlight, seconds);
			const perSecond = loads.reduce((sum, each) => sum + each.perSecond, 0);
			const { use, coresIn } = measured(perSecond * seconds);
			const idle = { service: coresIn("idle", own), load: coresIn("idle", rest) };
			const known = ["idle", "disk"] as const;
			const ours = Object.values(use).reduce((sum, each) => sum + each.all, 0);
			const others = known.reduce((left, state) => left - coresIn(state, all), all.length - ours);
			points.push({
				...setup,
				load: rest === all ? "same cores" : "own cores",
				inFlight,
				perSecond,
				p50Ms: median(loads.map(({ p50 }) => p50)),
				p99Ms: Math.max(...loads.map(({ p99 }) => p99)),
				use,
				idle,
				others: Number(others.toFixed(2)),
				waitingForDisk: coresIn("disk", all),
				wall: wallOf(use, { cores: setup.cores, idle: idle.service, others }),
			});
		}
		return points;
	} finally {
		for (const step of closing.toReversed()) await step();
	}
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
try {
	const flushMs = flushTimes(folder);
	const setups = values.store
		.split(",")
		.flatMap((store) =>
			numbers(values.servers).flatMap((servers) => counts.map((cores): Setup => ({ store, servers, cores }))),
		)
		.filter(({ store, servers }) => servers === 1 || store === "postgres");
	const found = new Map<string, Point[]>();
	for (let round = 0; round < rounds; round += 1)
		for (const setup of setups)
			for (const point of await measure(setup, folder)) {
				const key = JSON.stringify([setup, point.inFlight]);
				found.set(key, [...(found.get(key) ?? []), point]);
				process.stderr.write(`${key}: ${point.perSecond}/s, ${point.wall}\n`);
			}
	/** The round of the median, with the spread of all. */
	const points = [...found.values()].map((each) => {
		const rates = spread(each.map(({ perSecond }) => perSecond));
		const middle = each.toSorted((a, b) => a.perSecond - b.perSecond)[(each.length - 1) >> 1]!;
		return { ...middle, perSecond: rates };
	});
	const result = { bench: "cores", ...machine(), flushMs, seconds, rounds, workers, points };
	process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
} finally {
	rmSync(folder, { recursive: true, force: true });
}
