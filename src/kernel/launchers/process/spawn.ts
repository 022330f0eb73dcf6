/** Starts the process of a worker. Its volumes are folders of this machine, linked to their paths. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, lstat, mkdir, readlink, realpath, stat, symlink } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { machineEnv } from "../../core/workers/worker-env.ts";
import { fileCalls } from "../../system/file-calls.ts";
import type { WorkerSpec, WorkerCommand } from "../launcher.ts";
import { accountEnv, confinementOf, inheritedEnv } from "./confinement.ts";
import { SERVICE_VARIABLE, signal } from "./process-group.ts";
import type { ProcessSettings } from "./settings.ts";
import type { Clock } from "../../system/clock.ts";

type ProcessSpec = WorkerSpec<ProcessSettings>;

/** The worker's variables override the service's. */
export async function environmentOf(
	{
		workerId,
		env,
		gpus,
		serviceId,
		settings,
	}: Pick<ProcessSpec, "workerId" | "env" | "gpus" | "serviceId" | "settings">,
	serviceEnv: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
	return {
		...inheritedEnv(serviceEnv, settings),
		...(await accountEnv(settings)),
		...machineEnv({ worker: workerId, gpus: gpus.length, volumes: settings.volumes }),
		...env,
		...(gpus.length > 0 && visibleGpus(gpus.join(","))),
		[SERVICE_VARIABLE]: serviceId,
	};
}

/** The numbers are those of nvidia-smi, whose order is not CUDA's own. */
function visibleGpus(gpus: string): Record<string, string> {
	// ROCR_VISIBLE_DEVICES would count first, and the numbers of these among what is left.
	return { CUDA_DEVICE_ORDER: "PCI_BUS_ID", CUDA_VISIBLE_DEVICES: gpus, HIP_VISIBLE_DEVICES: gpus };
}

/**
 * The process leads its own session and group, has exactly `spec.env`, and does not keep the service alive. Throws
 * an Error with a sentence.
 */
export async function spawnWorker(
	spec: Pick<ProcessSpec, "settings" | "env">,
	{ output, volumeDir }: { output: number | "ignore"; volumeDir: string },
): Promise<{ child: ChildProcess; pid: number }> {
	const { command, cwd = "." } = spec.settings;
	const [file, ...args] = command;
	if (file === undefined || file === "") throw new Error("its command is empty");
	// The service's own folder, the default, must not wait for folders of other endpoints.
	const group = resolve(cwd) === process.cwd() ? undefined : cwd;
	const folder = await fileCalls.run(cwd, () => stat(cwd), group).catch(hanging);
	if (!folder?.isDirectory()) throw new Error(`the working directory ${cwd} does not exist`);
	const { prefix, account } = await confinementOf(spec.settings);
	await linkVolumes(spec.settings, { volumeDir, owner: account });
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

function sentence({ settings: { command }, env }: Pick<ProcessSpec, "settings" | "env">, error: unknown): string {
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

/**
 * Links each volume once for all workers. `volumeDir`: for volumes with a name. `owner`: of created folders. Throws
 * an Error whose message ends a sentence.
 */
async function linkVolumes(
	{ volumes = [] }: Pick<ProcessSettings, "volumes">,
	{ volumeDir, owner }: { volumeDir: string; owner?: { uid: number; gid: number } | undefined },
): Promise<void> {
	for (const text of volumes) {
		const [source = "", path = ""] = text.split(":");
		const isNamed = !isAbsolute(source);
		const folder = isNamed ? resolve(volumeDir, source) : source;
		const group = isNamed ? undefined : folder;
		if (isNamed && (await realPathOf(folder)) === undefined) {
			await fileCalls.run(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }));
			if (owner) await fileCalls.run(folder, () => chown(folder, owner.uid, owner.gid));
		}
		const real = await realPathOf(folder, group);
		if (real === undefined) throw new Error(`the folder ${folder} of launcher.volumes does not exist`);
		if ((await realPathOf(path, group)) !== real) await link(folder, path, group);
	}
}

/** `group`: of the volume's folder, to which the path may lead. */
async function realPathOf(path: string, group?: string): Promise<string | undefined> {
	return await fileCalls.run(path, () => realpath(path), group).catch(hanging);
}

/** Errors but for this one mean that a file is not there, or not to be used. */
function hanging(error: NodeJS.ErrnoException): undefined {
	if (error.code === "ETIMEDOUT") throw error;
}

async function link(folder: string, path: string, group: string | undefined): Promise<void> {
	const present = await fileCalls.run(path, () => lstat(path), group).catch(hanging);
	if (present) {
		const target = present.isSymbolicLink() && (await fileCalls.run(path, () => readlink(path), group));
		const what = target === false ? "something else" : `a link to ${target}`;
		throw new Error(
			`${path} of launcher.volumes is ${what}, not a link to ${folder}: remove it, or remove the volume ` +
				"from launcher.volumes to use what is there",
		);
	}
	try {
		await fileCalls.run(path, () => symlink(folder, path), group);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		// Another worker of the same volumes has just made it.
		if (code === "EEXIST" && (await realPathOf(path, group)) === (await realPathOf(folder, group))) return;
		const fix = code === "ENOENT" ? `create the folder ${dirname(path)}` : `run once: sudo ln -s '${folder}' '${path}'`;
		throw new Error(`a link at ${path} to ${folder} cannot be created (${code}): ${fix}`, {
			cause: error,
		});
	}
}

/** Programs next to a worker: with its variables, user, limits and folder, and with their output in its log. */
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
