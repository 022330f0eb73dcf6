import { duration } from "../../kernel/core/durations.ts";
import type { Schema } from "../../kernel/lib/schema.ts";
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { command, cwd, ENTRYPOINT, integer, list } from "../../kernel/launchers/settings.ts";

export interface SlurmSettings {
	type: "slurm";
	/** Absent only with `entrypoint`. */
	command?: string[];
	/** `image`: that of the image, with `command` as its arguments. Absent: `command` is the program. */
	entrypoint?: "image" | string[];
	/** The same path here and on the nodes. */
	sharedDir: string;
	/** Default: the service's. */
	cwd?: string;
	partition?: string;
	account?: string;
	qos?: string;
	constraint?: string;
	timeLimit?: string;
	/** Time before the limit, s. */
	drainBefore?: number;
	cpus?: number;
	/** A number with suffix `K`, `M`, `G` or `T`. */
	memory?: string;
	/** Type as in `gres.conf`, such as a100. */
	gpuType?: string;
	image?: string;
	/** Default: apptainer. */
	container?: "apptainer" | "pyxis";
	/** `source:/path` or `source:/path:ro`. */
	volumes?: string[];
	setup?: string[];
	/** Default: what the service puts into `sharedDir`. */
	adapterCommand?: string[];
	options?: string[];
}

/** The launcher sets these. `sbatch` also takes any abbreviation of them. */
const OWN_OPTIONS = (
	"job-name comment output error input open-mode export-file parsable wrap array requeue " +
	"no-requeue chdir nodes ntasks hold wait test-only get-user-env clusters signal"
)
	.split(" ")
	.map((name) => name.split("").reduceRight((rest, letter) => `${letter}(?:${rest})?`))
	.join("|");

function name(title: string | undefined, description: string, example: string): Schema {
	return {
		type: "string",
		pattern: "^[A-Za-z0-9_.,-]{1,200}$",
		...(title !== undefined && { title }),
		description,
		examples: [example],
		"x-message": `must be a name such as ${example}.`,
	};
}

export const SETTINGS: LauncherDefinition["settings"] = {
	required: ["sharedDir"],
	properties: {
		command: command("Program and arguments, without a shell; with image, inside of it.", [
			"python3",
			"-u",
			"handler.py",
		]),
		entrypoint: {
			oneOf: [{ const: "image" }, ENTRYPOINT],
			description:
				"With image: what starts in it, with the command as arguments. image for its own ENTRYPOINT, or a list that " +
				"replaces it. Default: none, so that the command names the program.",
			"x-message": "must be image, or a list of a program and its arguments, such as [python, -u].",
		},
		sharedDir: {
			type: "string",
			pattern: "^[^\\0\\n%\\\\]{1,1000}$",
			title: "Shared folder",
			description:
				"Folder that this machine and the nodes see under the same path, for the output of workers and, " +
				"readable by this user only, their variables until a worker has read them. In sluice.yaml " +
				"relative to that file; elsewhere an absolute path.",
			examples: ["/home/me/sluice-workers"],
			"x-message": "must be the path of a directory, without % and \\.",
		},
		cwd: cwd(" on the node"),
		partition: name("Partition", "Partition; by default that of the cluster.", "gpu"),
		account: name("Account", "Account that is charged; by default that of the user.", "lab"),
		qos: name("QOS", "Quality of service.", "normal"),
		constraint: {
			type: "string",
			pattern: "^[^\\0\\n]{1,500}$",
			description: "Features that the node must have, as sbatch --constraint takes them.",
			examples: ["a100|h100"],
			"x-message": "must be features such as a100, or an expression such as a100|h100.",
		},
		timeLimit: {
			type: "string",
			pattern: "^([0-9]{1,4}-)?[0-9]{1,6}(:[0-9]{1,2}){0,2}$",
			title: "Time limit",
			description:
				"Longest life of a worker: as sbatch takes it, such as 12:00:00, 2-00:00:00 (days first) or 30 (minutes). By " +
				"default that of the partition. A worker is replaced before it ends.",
			examples: ["12:00:00"],
			"x-message": 'must be a time in quotes, such as "12:00:00", "2-00:00:00" or "30" (minutes).',
		},
		drainBefore: {
			...duration("s", [5, 604_800], { example: "5m", default: 300 }),
			description:
				"How long before its time limit a worker gets no more jobs and is replaced, at most half of the " +
				"limit: as long as jobs run. Slurm ends a job that runs longer, and it runs again elsewhere.",
		},
		cpus: integer(1, 4096, "Processor cores of each worker (sbatch --cpus-per-task)."),
		memory: {
			type: "string",
			pattern: "^[1-9][0-9]{0,11}[KMGTkmgt]$",
			title: "Memory",
			description: "Memory of each worker, with K, M, G or T behind the number.",
			examples: ["16G"],
			"x-message": "must be a size such as 16G or 512M.",
		},
		gpuType: name(undefined, "Type of the GPUs that gpusPerWorker counts, as the cluster names it.", "a100"),
		image: {
			type: "string",
			pattern: "^[^\\s-]\\S{0,999}$",
			title: "Image",
			description:
				"The command runs in this image: for apptainer a .sif file or docker://name, for pyxis a .sqsh " +
				"file or name. Without it the command runs on the node itself.",
			examples: ["/home/me/images/worker.sif"],
			"x-message": "must be the path or the name of an image.",
		},
		container: {
			enum: ["apptainer", "pyxis"],
			default: "apptainer",
			description:
				"What runs the image: apptainer exec (with --nv for GPUs), or Slurm's plugin pyxis with enroot " +
				"(srun --container-image). It must be installed on the nodes.",
			"x-message": "must be apptainer or pyxis.",
		},
		volumes: {
			type: "array",
			items: {
				type: "string",
				pattern: "^([A-Za-z0-9][A-Za-z0-9_.-]{0,63}|/[^:,\\0\\n]*):/[^:,\\0\\n]*(:(ro|rw))?$",
				"x-message": "must be name:/path or /folder:/path, perhaps with :ro behind it.",
			},
			description:
				"Folders that the image sees, as name:/path or /folder:/path, perhaps with :ro behind it: one of the " +
				"node by its absolute path, or one with a name in sharedDir (volumes/name). Models belong to " +
				"/runpod-volume.",
			examples: [["models:/runpod-volume"]],
			"x-message": "must be a list of name:/path, each perhaps with :ro behind it.",
		},
		setup: list("^[^\\0\\n]{1,2000}$", "must be one line of text.", {
			description:
				"Lines of bash that run on the node before the command, in a login shell, such as module load. " +
				"They stand in the batch script: put secrets in env.",
			examples: [["module load cuda/12.4", "source venv/bin/activate"]],
			"x-message": "must be a list of lines such as [module load cuda/12.4].",
		}),
		adapterCommand: {
			type: "array",
			minItems: 1,
			items: {
				type: "string",
				pattern: "^[^\\0\\n]{1,1000}$",
				"x-message": "must be one line of text; put quotes around a number.",
			},
			description:
				"With http: the command of the adapter on the nodes, such as [sluice-http]. Default: the Node that runs this " +
				"service and its worker kit, which the service puts into sharedDir: 130 MB in sluice-adapter for each " +
				"version. Set it if that Node cannot run on the nodes: on another processor, or with another C library.",
			examples: [["sluice-http"], ["node", "/opt/sluice/bin/sluice-http.js"]],
			"x-message": "must be a list of the command and its arguments, such as [sluice-http].",
		},
		options: {
			type: "array",
			maxItems: 50,
			items: {
				type: "string",
				pattern: `^--(?!(?:${OWN_OPTIONS})(?:=|$))[a-z][a-z0-9-]*(=[^\\0\\n]+)?$`,
				"x-message":
					"must be one long option of sbatch such as --exclusive or --reservation=name, none that Sluice sets.",
			},
			description:
				"Further options of sbatch, such as --exclusive, --reservation=name or --nice=100. Those of output, " +
				"environment, name, array and requeue are set by Sluice.",
			examples: [["--exclusive", "--nice=100"]],
			"x-message": "must be a list of options such as [--exclusive].",
		},
	},
};
