/**
 * A simulated platform: starts workers, some of which fail or crash, and keeps them running while
 * the server is down. Each server sees it through a launcher of its own.
 */
import type { MachineGpu } from "../../src/kernel/core/workers/gpus.ts";
import {
	type Exit,
	type Launcher,
	type Notice,
	PlatformUnavailable,
	type WorkerSpec,
} from "../../src/kernel/launchers/launcher.ts";
import { gpuFault } from "./gpu-rule.ts";
import type { Machine } from "./machine.ts";
import type { Process } from "./process.ts";
import type { World } from "./world.ts";

export interface Running {
	id: string;
	endpoint: string;
	serviceId: string;
	number: number;
	/** Numbers of its GPUs, and its part of each in 10^9 bytes; absent: whole ones. */
	gpus: readonly number[];
	gpuMemoryGb: number | undefined;
	/** It holds its GPUs; false while it sleeps. */
	isAwake: boolean;
	/** The server's process that has asked for its end, or for its sleep: it may hand it no job. */
	leaves: Process | undefined;
	env: Readonly<Record<string, string>>;
	/** What its platform last said of it. */
	notice: Notice | undefined;
	/** Ends its program. */
	end: AbortController;
	ended: Promise<void>;
	watch: ((exit: Exit) => void) | undefined;
	notify: ((notice: Notice) => void) | undefined;
}

/** Longest start of a platform, of a program, and time until a stopped one has ended, ms. */
const [START_MS, PROGRAM_MS, STOP_MS] = [300, 1500, 400];

/** Part of the starts that fail; of the programs that crash before their first call. */
const [FAILED, CRASHED] = [0.04, 0.04];

/**
 * On a machine, part of the starts and stops without an answer, of the programs that never call, of the workers that
 * wait before they run, and of those that the platform ends.
 */
const [UNANSWERED, HUNG, WAITS, ENDS] = [0.02, 0.02, 0.1, 0.03];

/** Longest such wait, time until such an end, and until it happens, ms. */
const [WAIT_MS, END_MS, ENDING_MS] = [6000, 30_000, 2000];

/** Part of the commands that put a worker to sleep or wake it that fail; longest time of one, ms. */
const [UNSLEPT, COMMAND_MS] = [0.05, 900];

/** Part of the workers with a part of a GPU that use more. */
const GREEDY = 0.05;

export interface Platform {
	/** Those that live. */
	workers(): readonly Running[];
	get(id: string): Running | undefined;
	/** The launcher of a server's process. */
	launcherFor(process: Process): Launcher;
	/** Ends all workers. */
	end(): void;
}

export function platform(q: {
	world: World;
	random: () => number;
	machine: Machine | undefined;
	/** Two workers have the same part of a GPU. */
	overbooked: (what: string) => void;
	/** Runs until the signal, or until the worker crashes. */
	program: (worker: { id: string; endpoint: string }, signal: AbortSignal) => Promise<void>;
	/** A worker of the endpoint was started: so many are alive. */
	started: (endpoint: string, alive: number) => void;
}): Platform {
	const { world, random, machine } = q;
	const workers = new Map<string, Running>();
	let numbers = 0;
	/** Nothing of this happens where no machine is simulated. */
	const happens = (part: number): boolean => machine !== undefined && random() < part;

	const alive = (endpoint: string): number => [...workers.values()].filter((each) => each.endpoint === endpoint).length;

	function holdGpus(worker: Running): void {
		worker.isAwake = true;
		const fault = machine && gpuFault(machine, [...workers.values()]);
		if (fault) q.overbooked(fault);
	}

	function begin({ workerId: id, endpoint, serviceId, gpus, gpuMemoryGb, env }: WorkerSpec): Running {
		const running: Running = {
			...{ id, endpoint, serviceId, gpuMemoryGb, env },
			number: (numbers += 1),
			gpus: gpus.map(Number),
			isAwake: true,
			leaves: undefined,
			notice: undefined,
			end: new AbortController(),
			ended: Promise.resolve(),
			watch: undefined,
			notify: undefined,
		};
		workers.set(id, running);
		q.started(endpoint, alive(endpoint));
		holdGpus(running);
		running.ended = run(running).then((code) => {
			workers.delete(id);
			const isPreempted = running.notice?.state === "ending";
			const how = running.end.signal.aborted ? { signal: "SIGTERM" } : { code };
			const reason = isPreempted && ({ code: "preempted", message: "it was preempted", crash: false } as const);
			running.watch?.({ workerId: id, ...how, lastOutput: "", ...(reason && { reason }) });
		});
		return running;
	}

	function notify(worker: Running, notice: Notice): void {
		worker.notice = notice;
		worker.notify?.(notice);
	}

	/** Waits until the platform runs it. */
	async function wait(worker: Running): Promise<void> {
		const { id: workerId, end } = worker;
		notify(worker, { workerId, state: "waiting", code: "queued", message: "It waits for its turn." });
		await world.sleep(random() * WAIT_MS, end.signal);
		if (!end.signal.aborted) notify(worker, { workerId, state: "running" });
	}

	/** The platform needs its place. */
	async function preempt(worker: Running): Promise<void> {
		const { id: workerId, end } = worker;
		await world.sleep(random() * END_MS, end.signal);
		if (end.signal.aborted) return;
		notify(worker, { workerId, state: "ending", code: "preempted", message: "It is preempted." });
		await world.sleep(ENDING_MS, end.signal);
		end.abort();
	}

	async function run(worker: Running): Promise<number> {
		const { signal } = worker.end;
		if (happens(WAITS)) await wait(worker);
		await world.sleep(random() * PROGRAM_MS, signal);
		if (signal.aborted || worker.env["BROKEN"] !== undefined || random() < CRASHED) return 1;
		if (happens(ENDS)) void preempt(worker);
		if (happens(HUNG)) await aborted(signal);
		else await q.program(worker, signal);
		return 1;
	}

	async function stop(worker: Running, graceMs: number): Promise<void> {
		await world.sleep(Math.min(graceMs, random() * STOP_MS));
		worker.end.abort();
		await worker.ended;
	}

	/** Its command releases its GPUs, or takes them again; some fail, some take too long. */
	async function command(worker: Running, name: string | undefined, timeoutMs: number): Promise<void> {
		if (name === "wake") holdGpus(worker);
		const ms = random() * (happens(UNSLEPT) ? 3 * timeoutMs : COMMAND_MS);
		await world.sleep(Math.min(ms, timeoutMs), worker.end.signal);
		if (worker.end.signal.aborted) throw new Error("The worker has ended.");
		if (ms > timeoutMs) throw new Error("The command took too long.");
		if (happens(UNSLEPT)) throw new Error("The command failed.");
		if (name === "sleep") worker.isAwake = false;
		else worker.leaves = undefined;
	}

	return {
		workers: () => [...workers.values()],
		get: (id) => workers.get(id),
		end() {
			for (const { end } of workers.values()) end.abort();
		},
		launcherFor(process) {
			const mine = new Set<string>();
			let exited: (exit: Exit) => void = () => {};
			let noticed: (notice: Notice) => void = () => {};
			/** Resolves in the server's process, after the platform's answer has arrived. */
			const inProcess = <T>(work: () => Promise<T>): Promise<T> =>
				new Promise((resolve, reject) => {
					if (!process.act()) return;
					world.after(1 + random() * 20, () => {
						work().then(
							(value) => process.after(1, () => resolve(value)),
							(error: Error) => process.after(1, () => reject(error)),
						);
					});
				});

			function watch(worker: Running): void {
				mine.add(worker.id);
				worker.watch = (exit) =>
					process.after(1, () => {
						mine.delete(exit.workerId);
						exited(exit);
					});
				worker.notify = (notice) => void process.after(0, () => noticed(notice));
				if (worker.notice) worker.notify(worker.notice);
			}

			return {
				name: "process",
				start: (spec) =>
					inProcess(async () => {
						await world.sleep(random() * START_MS);
						if (happens(UNANSWERED)) throw new PlatformUnavailable("The platform does not answer.");
						if (random() < FAILED) throw new Error("The platform refused it.");
						const worker = begin(spec);
						watch(worker);
						return { number: worker.number };
					}),
				adopt: (id, handle) =>
					inProcess(async () => {
						const worker = workers.get(id);
						if (!worker || worker.number !== handle["number"]) return false;
						watch(worker);
						return true;
					}),
				stop: (id, graceMs) =>
					inProcess(async () => {
						const worker = workers.get(id);
						if (!worker || !mine.has(id)) return;
						const before = worker.leaves;
						worker.leaves = process;
						if (happens(UNANSWERED)) {
							worker.leaves = before;
							throw new PlatformUnavailable("The platform does not answer.");
						}
						await stop(worker, graceMs);
					}),
				run: (id, { command: [name], timeoutMs }) =>
					inProcess(async () => {
						const worker = workers.get(id);
						if (!worker || !mine.has(id)) throw new Error("No such worker runs.");
						worker.leaves = process;
						await command(worker, name, timeoutMs);
					}),
				machineGpus: () => Promise.resolve(gpusOf(machine)),
				gpuMemory: (ids) =>
					inProcess(async () => {
						const parts = ids
							.flatMap((id) => workers.get(id) ?? [])
							.filter(({ gpuMemoryGb }) => gpuMemoryGb !== undefined);
						return new Map(parts.map((worker) => [worker.id, usedBy(worker)]));
					}),
				list: () => inProcess(async () => [...mine]),
				removeStrays: ({ serviceId }) =>
					inProcess(async () => {
						const strays = [...workers.values()].filter((each) => each.serviceId === serviceId && !mine.has(each.id));
						await Promise.all(strays.map((each) => stop(each, 0)));
						return strays.length;
					}),
				onExit(listener) {
					exited = listener;
				},
				onNotice(listener) {
					noticed = listener;
				},
				close: () => Promise.resolve(),
			};
		},
	};
}

function aborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function gpusOf(machine: Machine | undefined): MachineGpu[] {
	return Array.from({ length: machine?.gpus ?? 0 }, (_, number) => ({
		id: String(number),
		uuid: `GPU-${number}`,
		model: "simulated",
		memory: machine!.memoryGb * 1e9,
	}));
}

/** Bytes by GPU. The same for the whole life of a worker. */
function usedBy({ gpus, gpuMemoryGb = 0, number }: Running): ReadonlyMap<string, number> {
	const isGreedy = (number * 0.618) % 1 < GREEDY;
	return new Map(gpus.map((gpu) => [`GPU-${gpu}`, gpuMemoryGb * 1e9 * (isGreedy ? 1.5 : 0.9)]));
}
