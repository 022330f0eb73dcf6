import { HOST_NAME } from "./hosts/host-schema.ts";
import type { GpuNeed } from "../../kernel/core/workers/gpu-need.ts";
import type { Schema } from "../../kernel/lib/schema.ts";
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { CONTAINER_COMMAND, ENTRYPOINT, image, MACHINE_GPU, volumes } from "../../kernel/launchers/settings.ts";

export interface DockerSettings {
	type: "docker";
	image: string;
	/** Image with the program `sluice-http`; absent: one that the service makes of its own Node. */
	adapterImage?: string;
	/** Default: never. */
	pullPolicy?: "missing" | "always" | "never";
	/** Default: true. */
	prePull?: boolean;
	/** Id of a login of the management API; default: the login of the image's registry. */
	registry?: string;
	command?: string[];
	entrypoint?: string[];
	/** Bytes, or a number with suffix `k`, `m` or `g`. */
	memory?: string | number;
	/** Size of /dev/shm, in the form of `memory`. */
	shmSize?: string | number;
	cpus?: number;
	/** `source:path` or `source:path:ro`; the source is an absolute path or a volume. */
	volumes?: string[];
	network?: string;
	gpus?: "all" | number | (string | number)[];
	/** Names or labels of hosts, or all; absent: the daemon of `DOCKER_HOST`. */
	hosts?: "all" | string[];
	gpu?: GpuNeed;
	/** On hosts; default: `pack`. */
	placement?: "pack" | "spread";
}

function size(least: number, description: string, example: string, pattern = "^[1-9][0-9]{0,11}[bkmgBKMG]?$"): Schema {
	const message = `must be a size such as 512m or ${example}`;
	return {
		oneOf: [
			{ type: "string", pattern, "x-message": `${message}.` },
			{ type: "integer", minimum: least },
		],
		description,
		"x-message": `${message}, or bytes from ${least}.`,
	};
}

export const SETTINGS: LauncherDefinition["settings"] = {
	required: ["image"],
	properties: {
		image: image("Image; it must be on the machine unless pullPolicy is missing or always.", "my-worker:1.0"),
		adapterImage: {
			type: "string",
			pattern: "^\\S{1,255}$",
			description:
				"Image of the adapter of an endpoint with http: one with the program sluice-http, such as Sluice's own. " +
				"Default: one that the service makes of its own Node and sends to the Docker daemon.",
			examples: ["sluice:0.1.0"],
			"x-message": "must be the name of an image, such as sluice:0.1.0.",
		},
		pullPolicy: {
			enum: ["missing", "always", "never"],
			default: "never",
			description:
				"When the image is pulled: missing, if it is not on the machine; always, before each worker; " + "never.",
			"x-message": "must be missing, always or never.",
		},
		prePull: {
			type: "boolean",
			default: true,
			description:
				"Whether the image is pulled when the endpoint is saved, before a worker is needed. Only " +
				"with pullPolicy missing or always.",
			"x-message": "must be true or false.",
		},
		registry: {
			type: "string",
			pattern: "^[a-z0-9]{1,64}$",
			description:
				"Login of the management API with which the image is pulled, by its id. Default: that of the image's registry.",
			examples: ["3f9c2a17be"],
			"x-message": "must be an id of GET /v2/registries.",
		},
		command: CONTAINER_COMMAND,
		entrypoint: ENTRYPOINT,
		memory: size(6 * 1024 ** 2, "Most memory it may use: bytes, or with k, m or g behind the number.", "8g"),
		shmSize: size(
			64 * 1024,
			"Size of /dev/shm, through which processes of PyTorch share data: bytes, or with k, m or g behind the number. " +
				"By default half of memory, or 8g without it. Only what is in it takes memory.",
			"2g",
			// From 64k, or 100000 bytes as text.
			"^(?:[1-9][0-9]{0,11}[mgMG]|(?:6[4-9]|[7-9][0-9]|[1-9][0-9]{2,11})[kK]|[1-9][0-9]{5,11}[bB]?)$",
		),
		cpus: {
			type: "number",
			minimum: 0.01,
			maximum: 1024,
			description: "Most processor cores it may use, such as 1.5.",
		},
		volumes: volumes("Folders or volumes it sees, as source:/path or source:/path:ro; a folder by its absolute path."),
		network: {
			type: "string",
			pattern: "^[a-zA-Z0-9][a-zA-Z0-9_.-]*$",
			description: "host, which is the default on Linux, or the name of a Docker network.",
			"x-message": "must be host or the name of a Docker network.",
		},
		gpus: {
			oneOf: [
				{ const: "all" },
				{ type: "integer", minimum: 0, maximum: 1024 },
				{
					type: "array",
					items: {
						oneOf: [
							{ type: "string", minLength: 1 },
							{ type: "integer", minimum: 0 },
						],
					},
				},
			],
			description: "GPUs it gets: all, how many, or a list of their numbers or ids.",
			"x-message": "must be all, a whole number from 0 to 1024, or a list of GPU numbers or ids.",
		},
		hosts: {
			oneOf: [{ const: "all" }, { type: "array", minItems: 1, maxItems: 64, items: HOST_NAME }],
			description:
				"Hosts of the configuration on which workers start: a list of names or labels, or all. " +
				"Default: the daemon of DOCKER_HOST. gpusPerWorker then counts GPUs of the host.",
			examples: [["rig1", "rig2"]],
			"x-message": "must be all or a list of names or labels of hosts, such as [rig1, rig2].",
		},
		gpu: MACHINE_GPU,
		placement: {
			enum: ["pack", "spread"],
			default: "pack",
			description:
				"pack fills one host after another and prefers those that have the image; spread starts " +
				"each worker on the host with the fewest.",
		},
	},
};
