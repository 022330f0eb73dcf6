/** Programs next to a worker: with its variables, user, limits and folder, and with their output in its log. */
import { once } from "node:events";
import type { Clock } from "../../system/clock.ts";
import type { WorkerCommand } from "../launcher.ts";
import { signal } from "./process-group.ts";
import type { ProcessSettings } from "./settings.ts";
import { spawnWorker } from "./spawn.ts";

const PID_VARIABLE = "SLUICE_WORKER_PID";

/** Throws an Error with a sentence unless it exits with 0 in time. What it started ends with the worker. */
export async function runBeside(
	clock: Clock,
	{ pid, environment }: { pid: number; environment: readonly string[] },
	{ settings, command, timeoutMs, ...io }: WorkerCommand & { output: number; volumeDir: string },
): Promise<void> {
	const variables = environment.map((entry) => {
		const at = entry.indexOf("=");
		return [entry.slice(0, at), entry.slice(at + 1)] as const;
	});
	const env = { ...Object.fromEntries(variables), [PID_VARIABLE]: String(pid) };
	const launched = { settings: { ...(settings as ProcessSettings), command: [...command] }, env };
	const { child, pid: own } = await spawnWorker(launched, io);
	const over = new AbortController();
	const exit = once(child, "exit") as Promise<[code: number | null, killedBy: string | null]>;
	const end = await Promise.race([exit, clock.sleep(timeoutMs, over.signal)]);
	over.abort();
	if (!end) {
		signal(-own, "SIGKILL");
		throw new Error(`${JSON.stringify(command[0])} took longer than ${timeoutMs} ms.`);
	}
	const [code, killedBy] = end;
	if (code === 0) return;
	const how = killedBy === null ? `exited with code ${code}` : `ended by ${killedBy}`;
	throw new Error(`${JSON.stringify(command[0])} ${how}; its output is in the log of the worker.`);
}
