/** Starts the process of one worker, and says in a sentence why it could not. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import type { WorkerSpec } from "../launcher.ts";

/**
 * Starts `spec.command` as the leader of its own session and process group, with exactly
 * `spec.env`, its output going to the descriptor `output`. The child keeps nothing of the service
 * open or alive. Throws an Error with a clear sentence.
 */
export async function spawnWorker(
	spec: WorkerSpec,
	output: number | "ignore",
): Promise<{ child: ChildProcess; pid: number }> {
	const [file, ...args] = spec.command;
	if (file === undefined || file === "") throw refusal(spec, "its command is empty");
	if (!statSync(spec.cwd, { throwIfNoEntry: false })?.isDirectory()) {
		throw refusal(spec, `the working directory ${spec.cwd} does not exist`);
	}
	let child: ChildProcess;
	try {
		child = spawn(file, args, {
			cwd: spec.cwd,
			env: spec.env,
			detached: true,
			stdio: ["ignore", output, output],
		});
	} catch (error) {
		throw refusal(spec, sentence(spec, error), error);
	}
	if (child.pid === undefined) {
		const [error] = await once(child, "error");
		throw refusal(spec, sentence(spec, error), error);
	}
	child.unref();
	return { child, pid: child.pid };
}

/** The Error for a worker that cannot start. */
function refusal(spec: WorkerSpec, reason: string, cause?: unknown): Error {
	return new Error(`cannot start a worker of endpoint "${spec.endpoint}": ${reason}`, { cause });
}

/** Why the system would not run the command. */
function sentence({ command, env }: WorkerSpec, error: unknown): string {
	const file = JSON.stringify(command[0]);
	switch ((error as NodeJS.ErrnoException).code) {
		case "ENOENT":
			return command[0]?.includes("/")
				? `the command ${file}, or the interpreter its first line names, was not found`
				: `the command ${file} was not found on its PATH (${env["PATH"] ?? "not set"})`;
		case "EACCES":
			return `the command ${file} may not be executed`;
		default:
			return `the command ${file} failed to start (${error instanceof Error ? error.message : String(error)})`;
	}
}
