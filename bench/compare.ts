/**
 * This checkout next to another one, both built: one service of each, asked in turns of a few
 * seconds, so that what disturbs the machine disturbs both. Prints JSON: for `/runsync` through a
 * no-op worker at 64, 8 and 1 in flight and for `/run` at 64, this one's rate, processor time per
 * job and latency divided by the other's (median and quartiles of the turns). `node
 * bench/compare.ts OTHER [turns] [seconds] [postgres]`; with `postgres` each has a database of its own
 * on one server. Both are started twice, each one first once, because that alone changes the result.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { startDatabase } from "./cluster/database.ts";
import { machine } from "./machine.ts";
import * as ours from "./processes.ts";
import { shoot } from "./wrk.ts";

const [other, turns = "20", seconds = "2", kind = "sqlite"] = process.argv.slice(2);
if (other === undefined) throw new Error("name the folder of the other checkout");
if (kind !== "sqlite" && kind !== "postgres") throw new Error(`unknown store ${kind}: sqlite or postgres`);

interface Side {
	url: string;
	key: string;
	children: ChildProcess[];
	folder: string;
}

/** Of a turn: answers a second, ms of processor time per answer, and latency in ms. */
interface Turn {
	perSecond: number;
	cpuMs: number;
	p50: number;
	p99: number;
}

const processes = (await import(pathToFileURL(join(resolve(other), "bench/processes.ts")).href)) as Pick<
	typeof ours,
	"KEY" | "startService" | "startWorker"
>;

const database = kind === "postgres" ? await startDatabase() : undefined;

async function started(from: typeof processes): Promise<Side> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
	const created = await database?.create();
	const service = await from.startService(folder, created && { store: created.url });
	const worker = await from.startWorker(service.url);
	return { url: service.url, key: from.KEY, children: [worker, service.child], folder };
}

/** Processor time of the service and its worker so far, in ms (Linux, 100 ticks a second). */
function cpuMs({ children }: Side): number {
	const ticks = children.map((child) => {
		const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]!.split(" ");
		return Number(fields[11]) + Number(fields[12]);
	});
	return ticks.reduce((sum, one) => sum + one, 0) * 10;
}

const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });

const headersOf = ({ key }: Side) => ({ Authorization: `Bearer ${key}` });

/** Resolves when no job is left: it would cost the next turn time. */
async function drained(side: Side): Promise<void> {
	for (let left = Infinity; left > 0; ) {
		const answer = await fetch(`${side.url}/v2/noop/health`, { headers: headersOf(side) });
		const { jobs } = (await answer.json()) as { jobs: { inQueue: number; inProgress: number } };
		left = jobs.inQueue + jobs.inProgress;
		if (left > 0) await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

async function turn(side: Side, path: string, connections: number): Promise<Turn> {
	const before = cpuMs(side);
	const headers = { "Content-Type": "application/json", ...headersOf(side) };
	const load = await shoot({ url: side.url + path, body, headers }, { connections, seconds: Number(seconds) });
	if (load.refused > 0) throw new Error(`${load.refused} requests were refused`);
	await drained(side);
	const answers = load.perSecond * Number(seconds);
	return { ...load, cpuMs: (cpuMs(side) - before) / answers };
}

function spread(values: number[]): { median: number; quartiles: [number, number] } {
	const sorted = values.toSorted((a, b) => a - b);
	const at = (part: number) => Number(sorted[Math.floor(part * (sorted.length - 1))]!.toFixed(3));
	return { median: at(0.5), quartiles: [at(0.25), at(0.75)] };
}

const SHAPES = [
	{ name: "runsync64", path: "/v2/noop/runsync", connections: 64 },
	{ name: "runsync8", path: "/v2/noop/runsync", connections: 8 },
	{ name: "runsync1", path: "/v2/noop/runsync", connections: 1 },
	{ name: "run64", path: "/v2/noop/run", connections: 64 },
];

/** Turns of the other one and of this one, by shape. */
const pairs = new Map<string, [Turn, Turn][]>(SHAPES.map(({ name }) => [name, []]));

async function measure(order: readonly (typeof processes)[]): Promise<void> {
	const sides = new Map<typeof processes, Side>();
	try {
		for (const from of order) sides.set(from, await started(from));
		const [theirs, own] = [sides.get(processes)!, sides.get(ours)!];
		for (const { name, path, connections } of SHAPES) {
			for (const side of [theirs, own, theirs, own]) await turn(side, path, connections);
			for (let count = 0; count < Number(turns) / 2; count += 1) {
				// The second one finds a warmer machine: turns swap.
				const first = count % 2 === 0 ? theirs : own;
				const one = await turn(first, path, connections);
				const two = await turn(first === theirs ? own : theirs, path, connections);
				pairs.get(name)!.push(first === theirs ? [one, two] : [two, one]);
			}
		}
	} finally {
		for (const side of sides.values()) {
			for (const child of side.children) await ours.end(child);
			rmSync(side.folder, { recursive: true, force: true });
		}
	}
}

try {
	await measure([processes, ours]);
	await measure([ours, processes]);
	const result: Record<string, unknown> = {
		bench: "compare",
		...machine(),
		store: kind,
		turns: Number(turns),
	};
	for (const [name, both] of pairs) {
		const ratio = (of: (turn: Turn) => number) => spread(both.map(([a, b]) => of(b) / of(a)));
		result[name] = {
			rate: ratio((one) => one.perSecond),
			cpu: ratio((one) => one.cpuMs),
			p50: ratio((one) => one.p50),
			p99: ratio((one) => one.p99),
			perSecond: spread(both.map(([, one]) => one.perSecond)),
			cpuMsPerJob: spread(both.map(([, one]) => one.cpuMs)),
		};
	}
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await database?.stop();
}
