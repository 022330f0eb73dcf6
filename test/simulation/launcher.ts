/**
 * A simulated platform: starts workers, some of which fail or crash, and keeps them running while
 * the server is down. Each server sees it through a launcher of its own.
 */
import type { Exit, Launcher } from "../../src/kernel/launchers/launcher.ts";
import type { Process } from "./process.ts";
import type { World } from "./world.ts";

interface Running {
	id: string;
	endpoint: string;
	serviceId: string;
	number: number;
	/** Ends its program. */
	end: AbortController;
	ended: Promise<void>;
	watch: ((exit: Exit) => void) | undefined;
}

/** Longest start of a platform, of a program, and time until a stopped one has ended, ms. */
const [START_MS, PROGRAM_MS, STOP_MS] = [300, 1500, 400];

/** Part of the starts that fail; of the programs that crash before their first call. */
const [FAILED, CRASHED] = [0.04, 0.04];

export interface Platform {
	alive(endpoint: string): number;
	/** The launcher of a server's process. */
	launcherFor(process: Process): Launcher;
	/** Ends all workers. */
	end(): void;
}

export function platform(q: {
	world: World;
	random: () => number;
	/** Runs until the signal, or until the worker crashes. */
	program: (worker: { id: string; endpoint: string }, signal: AbortSignal) => Promise<void>;
	/** A worker of the endpoint was started: so many are alive. */
	started: (endpoint: string, alive: number) => void;
}): Platform {
	const { world, random } = q;
	const workers = new Map<string, Running>();
	let numbers = 0;

	const alive = (endpoint: string): number => [...workers.values()].filter((each) => each.endpoint === endpoint).length;

	function begin({
		workerId,
		endpoint,
		serviceId,
	}: {
		workerId: string;
		endpoint: string;
		serviceId: string;
	}): Running {
		const end = new AbortController();
		const running: Running = {
			id: workerId,
			endpoint,
			serviceId,
			number: (numbers += 1),
			end,
			ended: Promise.resolve(),
			watch: undefined,
		};
		workers.set(workerId, running);
		q.started(endpoint, alive(endpoint));
		running.ended = run(running).then((code) => {
			workers.delete(workerId);
			const how = end.signal.aborted ? { signal: "SIGTERM" } : { code };
			running.watch?.({ workerId, ...how, lastOutput: "" });
		});
		return running;
	}

	async function run(worker: Running): Promise<number> {
		const { signal } = worker.end;
		await world.sleep(random() * PROGRAM_MS, signal);
		if (signal.aborted || random() < CRASHED) return 1;
		await q.program(worker, signal);
		return 1;
	}

	async function stop(worker: Running, graceMs: number): Promise<void> {
		await world.sleep(Math.min(graceMs, random() * STOP_MS));
		worker.end.abort();
		await worker.ended;
	}

	return {
		alive,
		end() {
			for (const { end } of workers.values()) end.abort();
		},
		launcherFor(process) {
			const mine = new Set<string>();
			let exited: (exit: Exit) => void = () => {};
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
			}

			return {
				name: "process",
				start: (spec) =>
					inProcess(async () => {
						await world.sleep(random() * START_MS);
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
						if (worker && mine.has(id)) await stop(worker, graceMs);
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
				close: () => Promise.resolve(),
			};
		},
	};
}
