/** Starts the process of a worker. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import type { WorkerSpec } from "../launcher.ts";
import { accountEnv, confinementOf, inheritedEnv } from "./confinement.ts";
import { SERVICE_VARIABLE } from "./process-group.ts";
import type { ProcessSettings } from "./settings.ts";
import { linkVolumes } from "./volumes.ts";

type ProcessSpec = WorkerSpec<ProcessSettings>;

/** The worker's variables over the service's, with GPUs and service id. */
export function environmentOf(
	{ env, gpus, serviceId, settings }: Pick<ProcessSpec, "env" | "gpus" | "serviceId" | "settings">,
	serviceEnv: Readonly<Record<string, string>>,
): Record<string, string> {
	return {
		...inheritedEnv(serviceEnv, settings),
		...accountEnv(settings),
		...env,
		...(gpus.length > 0 && { CUDA_VISIBLE_DEVICES: gpus.join(",") }),
		[SERVICE_VARIABLE]: serviceId,
	};
}

/**
 * Starts the command as leader of its own session and process group, with exactly `spec.env`;
 * output goes to the descriptor `output`. The child does not keep the service alive. Throws an
 * Error with a sentence.
 */
export async function spawnWorker(
	spec: ProcessSpec,
	{ output, volumeDir }: { output: number | "ignore"; volumeDir: string },
): Promise<{ child: ChildProcess; pid: number }> {
	const { command, cwd = "." } = spec.settings;
	const [file, ...args] = command;
	if (file === undefined || file === "") throw new Error("its command is empty");
	if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
		throw new Error(`the working directory ${cwd} does not exist`);
	const { prefix, account } = confinementOf(spec.settings);
	linkVolumes(spec.settings, { volumeDir, owner: account });
	let child: ChildProcess;
	try {
		const [program = file, ...words] = [...prefix, file, ...args];
		child = spawn(program, words, {
			cwd,
			env: spec.env,
			...(account && { uid: account.uid, gid: account.gid }),
			detached: true,
			stdio: ["ignore", output, output],
		});
	} catch (error) {
		throw new Error(sentence(spec, error), { cause: error });
	}
	if (child.pid === undefined) {
		const [error] = await once(child, "error");
		throw new Error(sentence(spec, error), { cause: error });
	}
	child.unref();
	return { child, pid: child.pid };
}

function sentence({ settings: { command }, env }: ProcessSpec, error: unknown): string {
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
