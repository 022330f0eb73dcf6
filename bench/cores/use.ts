/** What the threads and processes of a benchmark use of the cores between two moments (Linux). */
import { readFileSync } from "node:fs";
import { commandOf } from "../../test/support/postgres-folder.ts";
import { childrenOf, endedChildren, type Ticks, threadsOf, TICK_MICROS } from "../job-cost/processor.ts";

/** Processes of a point; `postgres` is the postmaster. This process runs the load as its children. */
export interface Pids {
	services: readonly number[];
	postgres?: number;
	workers: readonly number[];
}

/** Of one group of threads. */
export interface Use {
	/** Cores. */
	all: number;
	/** That of its busiest thread or process, which cannot use more than one. */
	busiest: number;
	/** Share of the time that is the kernel's. */
	kernel: number;
	microsPerJob: number;
}

/** Time of one core, in ticks. */
interface Core {
	idle: number;
	/** Idle, with a read or write of a disk in progress. */
	disk: number;
}

const SERVICE: Readonly<Record<string, string>> = { service: "service thread", sqlite: "SQLite thread" };

/** The group of each process of PostgreSQL, by what it calls itself. */
function groupOf(pid: number): string {
	return commandOf(pid).includes("127.0.0.1(") ? "PostgreSQL sessions" : "PostgreSQL's other processes";
}

function read({ services, postgres, workers }: Pids) {
	const groups = new Map<string, Map<number, Ticks>>();
	const add = (group: string, id: number, ticks: Ticks): void => {
		const of = groups.get(group) ?? new Map<number, Ticks>();
		groups.set(group, of.set(id, ticks));
	};
	for (const pid of services)
		for (const { id, name, ...ticks } of threadsOf(pid))
			add(SERVICE[name] ?? "other threads of the service", id, ticks);
	for (const pid of workers) for (const { id, name: _, ...ticks } of threadsOf(pid)) add("workers", id, ticks);
	for (const { id, ...ticks } of postgres ? childrenOf(postgres) : []) add(groupOf(id), id, ticks);
	add("load", process.pid, endedChildren(process.pid));
	return { at: performance.now(), groups, cores: readCores() };
}

function readCores(): Map<number, Core> {
	const lines = readFileSync("/proc/stat", "utf8").matchAll(/^cpu(\d+) (.*)$/gm);
	return new Map(
		[...lines].map(([, core, text]): [number, Core] => {
			const [, , , idle = 0, disk = 0] = text!.split(" ").map(Number);
			return [Number(core), { idle, disk }];
		}),
	);
}

const digits = (value: number): number => Number(value.toPrecision(3));

/** Begins; the returned function ends it, with the number of jobs that ran meanwhile. */
export function measureUse(pids: Pids) {
	const from = read(pids);
	return (jobs: number) => {
		const to = read(pids);
		const micros = (to.at - from.at) * 1000;
		const uses = [...to.groups].map(([group, threads]): [string, Use] => {
			const before = from.groups.get(group);
			const spent = [...threads].map(([id, { user, system }]) => ({
				all: user + system - (before?.get(id)?.user ?? 0) - (before?.get(id)?.system ?? 0),
				kernel: system - (before?.get(id)?.system ?? 0),
			}));
			const all = spent.reduce((sum, each) => sum + each.all, 0);
			const kernel = spent.reduce((sum, each) => sum + each.kernel, 0);
			return [
				group,
				{
					all: digits((all * TICK_MICROS) / micros),
					busiest: digits((Math.max(...spent.map((each) => each.all)) * TICK_MICROS) / micros),
					kernel: digits(kernel / (all || 1)),
					microsPerJob: digits((all * TICK_MICROS) / jobs),
				},
			];
		});
		/** Sum over cores, in cores. */
		const coresIn = (state: keyof Core, cores: readonly number[]): number =>
			digits(
				(cores.reduce((sum, core) => sum + to.cores.get(core)![state] - from.cores.get(core)![state], 0) *
					TICK_MICROS) /
					micros,
			);
		return { use: Object.fromEntries(uses), coresIn };
	};
}
