/**
 * The worker process of `sluice dev`. After a crash it restarts when a source file changes (D36).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../clock.ts";
import type { DevTarget } from "./target.ts";

export interface DevWorkers {
	/** Variables for a new worker, including `RUNPOD_POD_ID`. */
	newWorker(): Promise<Record<string, string>>;
	/** Requeues the worker's jobs; returns their number. */
	workerEnded(id: string): Promise<number>;
	/** Whether it has polled for jobs, and started one. */
	progress(id: string): { polled: boolean; worked: boolean };
}

export interface DevWorker {
	/** Kills the worker if it runs, and starts it. Merges calls during a restart. */
	restart(): void;
	/** Sends SIGTERM, after `graceMs` SIGKILL. No restart is possible. */
	stop(graceMs: number): Promise<void>;
}

/** An unrequested exit. */
export interface Crash {
	/** Such as "exited with code 1". */
	how: string;
	polled: boolean;
	requeued: number;
}

interface Options {
	target: DevTarget;
	/** Read at each start. */
	env: () => Readonly<Record<string, string>>;
	registry: DevWorkers;
	clock: Clock;
	onLine: (text: string) => void;
	onCrash: (crash: Crash) => void;
}

interface Run {
	child: ChildProcess;
	id: string;
	/** Resolves when all output has been read. */
	closed: Promise<void>;
}

/** Poll interval of a stopping process group, ms. */
const CHECK_MS = 20;
/** Maximum wait for killed processes to disappear, ms. */
const KILL_WAIT_MS = 1000;

/** Nothing runs before the first `restart`. */
export function devWorker(options: Options): DevWorker {
	const { target, env, registry, clock, onLine, onCrash } = options;
	let current: Run | undefined;
	let restartQueued = false;
	let stopped = false;
	let lastStep = Promise.resolve();

	/** Serialises starts and stops. */
	function enqueue(step: () => Promise<void>): Promise<void> {
		lastStep = lastStep.then(step).catch((error: unknown) => onLine(String(error)));
		return lastStep;
	}

	async function launch(): Promise<void> {
		const variables = await registry.newWorker();
		const [file = "", ...args] = target.command;
		const child = spawn(file, args, {
			cwd: target.folder,
			env: { ...env(), ...variables, PYTHONUNBUFFERED: "1" },
			// Its own process group: child processes are killed with it.
			detached: true,
			stdio: target.kit ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"],
		});
		for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream! }).on("line", onLine);
		const closed = once(child, "close").then(
			() => {},
			() => {},
		);
		const run = { child, id: variables["RUNPOD_POD_ID"]!, closed };
		current = run;
		child.on("error", (error: NodeJS.ErrnoException) => {
			if (child.pid !== undefined) return;
			onLine(error.code === "ENOENT" ? `The program '${file}' was not found.` : error.message);
			void enqueue(() => onExit(run, "could not be started", 1));
		});
		child.on("exit", (code, signal) => {
			const how = signal ? `was killed by ${signal}` : `exited with code ${code}`;
			void enqueue(() => onExit(run, how, code));
		});
	}

	/** Exit code 0 after work: replaced at once (`refresh_worker`). */
	async function onExit(run: Run, how: string, code: number | null): Promise<void> {
		if (current !== run) return;
		current = undefined;
		await killGroup(clock, run.child, 0);
		// Print its last lines first.
		await Promise.race([run.closed, clock.sleep(KILL_WAIT_MS)]);
		const { polled, worked } = registry.progress(run.id);
		const requeued = await registry.workerEnded(run.id);
		if (stopped) return;
		if (code === 0 && worked && requeued === 0) return await launch();
		onCrash({ how, polled, requeued });
	}

	async function end(graceMs: number): Promise<void> {
		const run = current;
		current = undefined;
		if (!run) return;
		await killGroup(clock, run.child, graceMs);
		await registry.workerEnded(run.id);
	}

	return {
		restart() {
			if (restartQueued || stopped) return;
			restartQueued = true;
			void enqueue(async () => {
				restartQueued = false;
				await end(0);
				if (!stopped) await launch();
			});
		},
		async stop(graceMs) {
			stopped = true;
			await enqueue(() => end(graceMs));
		},
	};
}

/** Resolves when the whole process group has disappeared. */
async function killGroup(clock: Clock, child: ChildProcess, graceMs: number): Promise<void> {
	const { pid } = child;
	if (pid === undefined) return;
	const exited = child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, "exit");
	if (graceMs > 0 && signalGroup(pid, "SIGTERM")) {
		for (let waited = 0; waited < graceMs && signalGroup(pid, 0); waited += CHECK_MS) await clock.sleep(CHECK_MS);
	}
	signalGroup(pid, "SIGKILL");
	await exited;
	for (let waited = 0; waited < KILL_WAIT_MS && signalGroup(pid, "SIGKILL"); waited += CHECK_MS)
		await clock.sleep(CHECK_MS);
}

/** False if the group has no processes. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
	try {
		return process.kill(-group, signal);
	} catch {
		return false;
	}
}
