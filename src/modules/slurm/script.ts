/** The batch job of a worker: `sbatch` options, script and variables. */
import { join } from "node:path";
import { machineEnv } from "../../kernel/core/workers/worker-env.ts";
import { shellQuoted } from "../../kernel/lib/text.ts";
import type { WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { logPath } from "../../kernel/launchers/logs/log-files.ts";
import type { SlurmSettings } from "./settings.ts";

export type SlurmSpec = WorkerSpec<SlurmSettings>;

/** Exit code when the script cannot read the worker's variables (EX_CONFIG). */
export const NO_VARIABLES = 78;

/** Exit code and output when Slurm has started the job a second time (EX_TEMPFAIL). */
export const STARTED_AGAIN = 75;
export const AGAIN = "Slurm started this job again, since its controller had lost the record of its first start.";

/** Exit code and output when the adapter cannot run on the node (EX_OSFILE). */
export const NO_ADAPTER = 72;
export const ADAPTER_FAILS = "The adapter cannot run on this node:";

/** Time until a worker has ended after its file was removed, ms. See {@link WATCHDOG}. */
export const WATCHDOG_MS = 4000;

/** The names that a shell can set. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** One server at a time writes to this folder of `sharedDir`. */
export function folderOf(q: Pick<SlurmSpec, "settings" | "serviceId" | "endpoint">): string {
	return join(q.settings.sharedDir, `sluice-${q.serviceId}`, q.endpoint);
}

/**
 * This file holds the worker's variables until it has read them, then is empty. When it is removed, the worker ends
 * or does not start, whatever Slurm knows of the job.
 */
export function variablesPath(folder: string, workerId: string): string {
	return join(folder, `worker-${encodeURIComponent(workerId)}.env`);
}

export interface JobOwner {
	serviceId: string;
	endpoint: string;
	workerId: string;
}

/** The job's name marks it, because the site's rules may replace a comment. */
export function nameOf({ serviceId, endpoint, workerId }: JobOwner): string {
	return `sluice:${serviceId}:${endpoint}:${workerId}`;
}

export function ownerIn(name: string): JobOwner | undefined {
	const match = /^sluice:([^:]+):([\w-]+):([\w-]+)$/.exec(name);
	return match ? { serviceId: match[1]!, endpoint: match[2]!, workerId: match[3]! } : undefined;
}

export function sbatchOptions(spec: SlurmSpec): string[] {
	const { settings, gpuCount } = spec;
	const { partition, account, qos, constraint, timeLimit, cpus, memory, gpuType } = settings;
	const option = (name: string, value: string | number | undefined): string[] =>
		value === undefined ? [] : [`--${name}=${value}`];
	return [
		...(settings.options ?? []),
		...option("partition", partition),
		...option("account", account),
		...option("qos", qos),
		...option("constraint", constraint),
		...option("time", timeLimit),
		...option("cpus-per-task", cpus),
		...option("mem", memory),
		...(gpuCount > 0 ? [`--gres=gpu:${gpuType === undefined ? "" : `${gpuType}:`}${gpuCount}`] : []),
		...option("chdir", settings.cwd),
		"--nodes=1",
		"--ntasks=1",
		// An ended worker is replaced by a new one with a token of its own.
		"--no-requeue",
		"--export=ALL",
		"--input=/dev/null",
		"--open-mode=append",
		`--output=${logPath(folderOf(spec), spec.workerId)}`,
		`--job-name=${nameOf(spec)}`,
		`--comment=Sluice worker ${spec.workerId} of endpoint ${spec.endpoint}, service ${spec.serviceId}`,
		"--parsable",
	];
}

/**
 * Ends the process group of `$0`, the worker, when the file `$1` is removed. Errors other than ENOENT do not count.
 * The worker holds the other end of its stdin open, so that it ends with the worker. It is in no process group that
 * Slurm waits for (proctrack/pgid).
 */
const WATCHDOG = `trap "" TERM
export LC_ALL=C
end() { kill -$1 -- -$0 || kill -$1 $0; } 2>/dev/null
until [ -d "\${1%/*}" ] && [[ $( { true <"$1"; } 2>&1) = *"No such file"* ]]; do
  kill -0 $0 2>/dev/null || exit
  read -r -t 2
  [ $? -le 128 ] || continue
  [ -e /proc/$0/exe ] || exit
  sleep 2
done
echo "The file of this worker was removed: it is ended." >&2
end TERM
sleep 1
end KILL`;

/**
 * Ends the server of an adapter that was killed: it is in a process group of its own, which not every ProctrackType
 * finds. All that it starts has the worker's id in its environment. The watchdog ends with the adapter, and was started
 * before it had these variables.
 */
function serverEnd(workerId: string): string {
	return `end_server() {
  for ((i = 0; i < 50; i++)); do
    found=$(grep -lzxF "RUNPOD_POD_ID=${workerId}" /proc/[0-9]*/environ)
    [ -n "$found" ] || return
    for each in $found; do each=\${each#/proc/}; kill -KILL \${each%/*}; done
    sleep 0.1
  done
} 2>/dev/null
trap end_server EXIT`;
}

/** Fails where the adapter cannot run: Node may be for another processor or C library, and files may not be run. */
function adapterCheck({ settings }: SlurmSpec, [program = ""]: readonly string[]): string[] {
	const quoted = shellQuoted(program);
	return [
		`${settings.adapterCommand === undefined ? `${quoted} --version` : `type -P ${quoted}`} >/dev/null || {`,
		`  echo ${shellQuoted(`${ADAPTER_FAILS} ${program}`)} >&2`,
		`  exit ${NO_ADAPTER}`,
		"}",
	];
}

/**
 * Replaces itself by the worker, which gets the signals and sets the job's exit code. `adapter`: the command of a
 * worker's adapter, whose child the command of the settings is.
 */
export function batchScript(spec: SlurmSpec, adapter?: readonly string[]): string {
	const { setup = [] } = spec.settings;
	const command = [...(adapter ? [...adapter, "--"] : []), ...commandOf(spec)];
	const watchdog = adapter ? `${serverEnd(spec.workerId)}\n${WATCHDOG}` : WATCHDOG;
	return [
		// Modules of HPC sites are set up by login shells.
		setup.length > 0 ? "#!/bin/bash -l" : "#!/bin/bash",
		// `sbatch` passes on the service's token for Slurm.
		"unset SLURM_JWT",
		`variables=${shellQuoted(variablesPath(folderOf(spec), spec.workerId))}`,
		'if [ -e "$variables" ] && [ ! -s "$variables" ]; then',
		`  echo ${shellQuoted(AGAIN)} >&2`,
		'  rm -f "$variables"',
		`  sleep ${WATCHDOG_MS / 1000}`,
		`  exit ${STARTED_AGAIN}`,
		"fi",
		// Checks the opened file, because another user may replace the path.
		'if [ -L "$variables" ] || ! { exec 8<"$variables"; } 2>/dev/null || [ ! -O /proc/self/fd/8 ]; then',
		'  echo "The worker\'s variables in $variables cannot be read on $(hostname):" \\',
		'    "sharedDir must be the same folder here and at the service, and of its user." >&2',
		`  exit ${NO_VARIABLES}`,
		"fi",
		`exec 9> >(BASH_ENV= exec setsid /bin/bash -c ${shellQuoted(watchdog)} $$ "$variables" 8<&-)`,
		// The worker may have a variable of this name.
		"unset variables",
		". /proc/self/fd/8",
		": >/proc/self/fd/8",
		"exec 8<&-",
		...setup,
		...(adapter ? adapterCheck(spec, adapter) : []),
		`exec ${command.map(shellQuoted).join(" ")}`,
		"",
	].join("\n");
}

/**
 * Read by a shell, so they stand on no command line. Without `SLUICE_SERVICE_ID`, by which the process launcher
 * finds strays on the same machine. Throws an Error for names that cannot be set.
 */
export function variablesFile({ workerId: worker, gpuCount: gpus, settings, env }: SlurmSpec): string {
	const { cpus, volumes } = settings;
	const all = Object.entries({ ...machineEnv({ worker, gpus, cpus, volumes }), ...env });
	const wrong = all.map(([name]) => name).filter((name) => !VARIABLE.test(name));
	if (wrong.length > 0)
		throw new Error(
			`the variables ${wrong.map((each) => JSON.stringify(each)).join(", ")} of env have names that no ` +
				"shell can set: use letters, digits and _",
		);
	return all.map(([name, value]) => `export ${name}=${shellQuoted(value)}\n`).join("");
}

function commandOf({ settings, gpuCount }: SlurmSpec): string[] {
	const { command = [], entrypoint = [], image, container = "apptainer" } = settings;
	const ownsEntry = entrypoint === "image";
	const words = ownsEntry ? command : [...entrypoint, ...command];
	const volumes = volumesOf(settings).map(({ folder, at }) => `${folder}:${at}`);
	if (image === undefined) {
		if (volumes.length === 0) return words;
		throw new Error("launcher.volumes needs launcher.image: a command on the node itself sees the node's own folders");
	}
	if (container === "pyxis")
		return [
			"srun",
			"--ntasks=1",
			`--container-image=${image}`,
			...(ownsEntry ? ["--container-entrypoint"] : []),
			...(volumes.length > 0 ? [`--container-mounts=${volumes.join(",")}`] : []),
			...words,
		];
	return [
		"apptainer",
		ownsEntry ? "run" : "exec",
		...(gpuCount > 0 ? ["--nv"] : []),
		...volumes.map((volume) => `--bind=${volume}`),
		image,
		...words,
	];
}

/** Folders of the node and their paths in the image, `/path` or `/path:ro`. */
export function volumesOf({
	volumes = [],
	sharedDir,
}: Pick<SlurmSettings, "volumes" | "sharedDir">): { folder: string; at: string; named: boolean }[] {
	return volumes.map((text) => {
		const [source = "", ...at] = text.split(":");
		const named = !source.startsWith("/");
		const folder = named ? join(sharedDir, "volumes", source) : source;
		return { folder, at: at.join(":"), named };
	});
}
