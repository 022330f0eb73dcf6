/** The worker process of `sluice dev`. It restarts when a source file changes (D36). */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../../kernel/system/clock.ts";
import type { DevTarget } from "../target.ts";

interface DevWorkers {
	/** Variables for a new worker, including `RUNPOD_POD_ID`. */
	newWorker(): Promise<Record<string, string>>;
	/** Requeues the worker's jobs; returns their number. */
	workerEnded(id: string): Promise<number>;
	/** Whether the worker has polled for jobs and started one. */
	progress(id: string): { polled: boolean; worked: boolean };
}

export interface Crash {
	how: string;
	polled: boolean;
	requeued: number;
	/** Whether it printed anything. */
	spoke: boolean;
}

interface Run {
	spoke: boolean;
	child: ChildProcess;
	id: string;
	closed: Promise<unknown>;
}

/** A worker that has not polled within this time of its start is reported, once. */
export const SILENT_MS = 30_000;

const CHECK_MS = 20;
const KILL_WAIT_MS = 1000;

/** Nothing runs before the first `restart`. */
export function devWorker(q: {
	target: DevTarget;
	env: () => Readonly<Record<string, string>>;
	registry: DevWorkers;
	clock: Clock;
	onLine: (text: string) => void;
	onCrash: (crash: Crash) => void;
	onSilence: () => void;
}) {
	const { target, registry, clock, onLine } = q;
	let current: Run | undefined;
	let restartQueued = false;
	let stopped = false;
	let lastStep = Promise.resolve();

	function enqueue(step: () => Promise<void>): Promise<void> {
		lastStep = lastStep.then(step).catch((error: unknown) => onLine(String(error)));
		return lastStep;
	}

	async function launch(): Promise<void> {
		const variables = await registry.newWorker();
		const [file = "", ...args] = target.command;
		const child = spawn(file, args, {
			cwd: target.cwd ?? target.folder,
			env: { ...q.env(), ...variables, PYTHONUNBUFFERED: "1" },
			// A process group of its own, which is killed as a whole.
			detached: true,
			stdio: ["ignore", "pipe", "pipe", ...(target.kit ? (["ipc"] as const) : [])],
		});
		for (const stream of [child.stdout, child.stderr])
			createInterface({ input: stream! }).on("line", (line) => {
				run.spoke = true;
				onLine(line);
			});
		const run = { spoke: false, child, id: variables["RUNPOD_POD_ID"]!, closed: once(child, "close").catch(() => {}) };
		current = run;
		void watchSilence(run);
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

	async function watchSilence(run: Run): Promise<void> {
		const ended = new AbortController();
		for (const event of ["exit", "error"]) run.child.once(event, () => ended.abort());
		await clock.sleep(SILENT_MS, ended.signal);
		if (current === run && !ended.signal.aborted && !registry.progress(run.id).polled) q.onSilence();
	}

	/** Exit code 0 after work restarts the worker at once (`refresh_worker`). */
	async function onExit(run: Run, how: string, code: number | null): Promise<void> {
		if (current !== run) return;
		current = undefined;
		await killGroup(clock, run.child, 0);
		await Promise.race([run.closed, clock.sleep(KILL_WAIT_MS)]);
		const { polled, worked } = registry.progress(run.id);
		const requeued = await registry.workerEnded(run.id);
		if (stopped) return;
		if (code === 0 && worked && requeued === 0) await launch();
		else q.onCrash({ how, polled, requeued, spoke: run.spoke });
	}

	async function end(graceMs: number): Promise<void> {
		const run = current;
		current = undefined;
		if (!run) return;
		const killed = killGroup(clock, run.child, graceMs, target.serverPort !== undefined ? run.closed : undefined);
		// Killed at once it must get no job before its connection closes, which takes a moment.
		if (graceMs === 0) await registry.workerEnded(run.id);
		await killed;
		if (graceMs > 0) await registry.workerEnded(run.id);
	}

	return {
		/** Merges calls during a restart. */
		restart(): void {
			if (restartQueued || stopped) return;
			restartQueued = true;
			void enqueue(async () => {
				restartQueued = false;
				await end(0);
				if (!stopped) await launch();
			});
		},
		/** SIGTERM, then SIGKILL after `graceMs`. Final. */
		async stop(graceMs: number): Promise<void> {
			stopped = true;
			await enqueue(() => end(graceMs));
		},
	};
}

/**
 * `serverEnded` is given for an adapter, whose server is in a group of its own. The adapter ends it when its pipe to
 * this process closes; the next server can use the port once the output of both is closed.
 */
async function killGroup(
	clock: Clock,
	child: ChildProcess,
	graceMs: number,
	serverEnded?: Promise<unknown>,
): Promise<void> {
	const { pid } = child;
	if (pid === undefined) return;
	const exited = child.exitCode ?? child.signalCode ?? once(child, "exit");
	if (graceMs > 0 && signalGroup(pid, "SIGTERM"))
		for (let waited = 0; waited < graceMs && signalGroup(pid, 0); waited += CHECK_MS) await clock.sleep(CHECK_MS);
	if (serverEnded) {
		if (child.connected) child.disconnect();
		await Promise.race([serverEnded, clock.sleep(KILL_WAIT_MS)]);
	}
	signalGroup(pid, "SIGKILL");
	await exited;
	for (let waited = 0; waited < KILL_WAIT_MS && signalGroup(pid, "SIGKILL"); waited += CHECK_MS)
		await clock.sleep(CHECK_MS);
}

function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
	try {
		return process.kill(-group, signal);
	} catch {
		return false;
	}
}
