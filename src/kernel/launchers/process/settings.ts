import type { GpuNeed } from "../../core/workers/gpu-need.ts";
import type { LauncherDefinition } from "../definition.ts";
import { command, cwd, integer, list, MACHINE_GPU } from "../settings.ts";

export interface ProcessSettings {
	type: "process";
	command: string[];
	/** Default: the service's. */
	cwd?: string;
	/** Name in `/etc/passwd`, or `uid:gid`. */
	user?: string;
	limits?: ProcessLimits;
	/** `name:/path` or `/folder:/path`. */
	volumes?: string[];
	/** `minimal` and a list add to the same few variables. */
	inheritEnv?: "all" | "minimal" | string[];
	gpu?: GpuNeed;
}

/** Limits of each process, not of all together. */
export interface ProcessLimits {
	memoryMb?: number;
	/** Number of all processes of the user. */
	processes?: number;
	openFiles?: number;
	fileSizeMb?: number;
}

export const SETTINGS: LauncherDefinition["settings"] = {
	required: ["command"],
	properties: {
		command: command("Program and arguments, without a shell.", ["node", "worker.js"]),
		cwd: cwd(),
		user: {
			type: "string",
			pattern: "^([a-z_][a-z0-9_.-]{0,31}|[0-9]{1,10}:[0-9]{1,10})$",
			description:
				"Workers run as this user: a name of /etc/passwd, or uid:gid, without further groups. " +
				"The service must run as root, and the user needs access to folder and program.",
			"x-message": "must be the name of a user, or uid:gid such as 1000:1000.",
		},
		limits: {
			type: "object",
			additionalProperties: false,
			description:
				"Limits of each process of a worker, by prlimit of util-linux (Linux). A limit of all processes " +
				"together, or of processor cores, needs the docker launcher.",
			"x-message": "must be an object with any of memoryMb, processes, openFiles and fileSizeMb.",
			properties: {
				memoryMb: integer(16, 16_777_216, "Private memory that a process may allocate, MiB (RLIMIT_DATA)."),
				processes: integer(
					1,
					4_194_304,
					"Processes and threads of the user, all its workers together (RLIMIT_NPROC). " +
						"Without effect on root: set user as well.",
				),
				openFiles: integer(16, 1_048_576, "Open files and connections (RLIMIT_NOFILE)."),
				fileSizeMb: integer(32, 16_777_216, "Size of each file that it writes, its log included, MiB (RLIMIT_FSIZE)."),
			},
		},
		volumes: list("^([A-Za-z0-9][A-Za-z0-9_.-]{0,63}|/[^:]*):/[^:]+$", "must be name:/path or /folder:/path.", {
			description:
				"Folders that workers see at another path, by a symbolic link there, as name:/path or /folder:/path. " +
				"One with a name is in the data directory (volumes/name). Models belong to /runpod-volume.",
			examples: [["models:/runpod-volume"]],
			"x-message": "must be a list of name:/path, such as [models:/runpod-volume].",
		}),
		gpu: MACHINE_GPU,
		inheritEnv: {
			oneOf: [
				{ enum: ["all", "minimal"] },
				{
					type: "array",
					maxItems: 100,
					items: {
						type: "string",
						pattern: "^[A-Za-z_][A-Za-z0-9_]*[*]?$",
						"x-message": "must be the name of a variable, with * at the end for any ending.",
					},
				},
			],
			description:
				"Variables of the service's environment that workers inherit: all of them; minimal, such as PATH, HOME, " +
				"the locale and CUDA_*; or a list of names in addition to the minimal ones, * at the end for any ending. " +
				"Variables with secrets of Sluice are never inherited. By default minimal with user, otherwise all.",
			"x-message": "must be all, minimal, or a list of names such as [HF_TOKEN, AWS_*].",
		},
	},
};
