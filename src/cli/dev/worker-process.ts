/**
 * The worker of `sluice dev`: started, ended and started anew; one that ends by itself waits for
 * the next change (D36).
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../clock.ts";
import type { DevTarget } from "./target.ts";

/** What the process needs of the service. */
export interface DevService {
	/** A new worker's variables; among them its id, `RUNPOD_POD_ID`. */
	newWorker(): Promise<Record<string, string>>;
	/** The worker is dead: what it held waits again. Answers how many jobs that were. */
	workerEnded(id: string): Promise<number>;
	/** Whether the worker has asked for a job, and has ended one. */
	sofar(id: string): { asked: boolean; worked: boolean };
}

/** The worker of a session. */
export interface DevWorker {
	/** Ends the worker at once, if it runs, and starts it anew. Calls that come meanwhile are one. */
	restart(): void;
	/** Ends it: asked first, killed after `graceMs`. Nothing starts afterwards. */
	stop(graceMs: number): Promise<void>;
}

/** How the worker ended by itself. */
export interface Crash {
	how: string;
	asked: boolean;
	/** Jobs that wait again. */
	returned: number;
}

interface Deps {
	target: DevTarget;
	env: Readonly<Record<string, string>>;
	service: DevService;
	clock: Clock;
	/** A line of its output. */
	line: (text: string) => void;
	/** It ended by itself, and is started with the next change. */
	crashed: (crash: Crash) => void;
}

/** One life of the worker. `closed`: all its output has been read. */
interface Run {
	child: ChildProcess;
	id: string;
	closed: Promise<void>;
}

/** How often a group that was told to end is looked at, ms. */
const LOOK_MS = 20;
/** How long killed processes get to vanish, ms. */
const VANISH_MS = 1000;

/** Nothing runs before the first `restart`. */
export function devWorker({ target, env, service, clock, line, crashed }: Deps): DevWorker {
	let running: Run | undefined;
	let wanted = false;
	let stopped = false;
	let turn = Promise.resolve();

	async function launch(): Promise<void> {
		const variables = await service.newWorker();
		const id = variables["RUNPOD_POD_ID"]!;
		const [file = "", ...args] = target.command;
		const child = spawn(file, args, {
			cwd: target.folder,
			env: { ...env, ...target.env, ...variables, PYTHONUNBUFFERED: "1" },
			// A group of its own: what the worker started ends with it.
			detached: true,
			stdio: target.kit ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"],
		});
		for (const stream of [child.stdout, child.stderr])
			createInterface({ input: stream! }).on("line", line);
		const closed = once(child, "close").then(
			() => {},
			() => {},
		);
		const mine = { child, id, closed };
		running = mine;
		child.on("error", (error: NodeJS.ErrnoException) => {
			if (child.pid !== undefined) return;
			line(error.code === "ENOENT" ? `The program '${file}' was not found.` : error.message);
			void inTurn(() => leave(mine, "could not be started", 1));
		});
		child.on(
			"exit",
			(code, signal) =>
				void inTurn(() =>
					leave(mine, signal ? `was ended by ${signal}` : `ended with code ${code}`, code),
				),
		);
	}

	/**
	 * It ended by itself: one that has worked and ended well may do so (`refresh_worker`), others
	 * wait for a change.
	 */
	async function leave(mine: Run, how: string, code: number | null): Promise<void> {
		if (running !== mine) return;
		running = undefined;
		await killGroup(clock, mine.child, 0);
		// Its last lines come before the word about its end.
		await Promise.race([mine.closed, clock.sleep(VANISH_MS)]);
		const { asked, worked } = service.sofar(mine.id);
		const returned = await service.workerEnded(mine.id);
		if (stopped) return;
		if (code === 0 && worked && returned === 0) return await launch();
		crashed({ how, asked, returned });
	}

	async function end(graceMs: number): Promise<void> {
		const mine = running;
		running = undefined;
		if (!mine) return;
		await killGroup(clock, mine.child, graceMs);
		await service.workerEnded(mine.id);
	}

	function inTurn(work: () => Promise<void>): Promise<void> {
		turn = turn.then(work).catch((error: unknown) => line(String(error)));
		return turn;
	}

	return {
		restart() {
			if (wanted || stopped) return;
			wanted = true;
			void inTurn(async () => {
				wanted = false;
				await end(0);
				if (!stopped) await launch();
			});
		},
		async stop(graceMs) {
			stopped = true;
			await inTurn(() => end(graceMs));
		},
	};
}

/** Ends a child and all of its group, and waits until it is gone. */
async function killGroup(clock: Clock, child: ChildProcess, graceMs: number): Promise<void> {
	const { pid } = child;
	if (pid === undefined) return;
	const exited =
		child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, "exit");
	if (graceMs > 0 && signalled(pid, "SIGTERM")) {
		for (let waited = 0; waited < graceMs && signalled(pid, 0); waited += LOOK_MS)
			await clock.sleep(LOOK_MS);
	}
	signalled(pid, "SIGKILL");
	await exited;
	for (let waited = 0; waited < VANISH_MS && signalled(pid, "SIGKILL"); waited += LOOK_MS)
		await clock.sleep(LOOK_MS);
}

/** Sends a signal to the group; false when nothing of it is left. */
function signalled(group: number, signal: NodeJS.Signals | 0): boolean {
	try {
		return process.kill(-group, signal);
	} catch {
		return false;
	}
}
