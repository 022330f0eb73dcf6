/** Hosts of `sluice.yaml` on which the launcher `docker` places workers (D44). */
import { CUDA_VERSION, type HostGpu } from "../../../kernel/core/workers/hosts.ts";
import { type Schema, webAddress } from "../../../kernel/lib/schema.ts";

/** Paths are absolute. */
export interface HostSettings {
	/** Absent for `local`, the daemon of `DOCKER_HOST`. */
	docker?: string;
	/** PEM files. */
	tls?: { ca: string; cert: string; key: string };
	insecure?: boolean;
	/** Default: that of the service. */
	workerUrl?: string;
	labels?: string[];
	/** Absent: read by `nvidia-smi`. */
	gpus?: HostGpu[];
	gpuImage?: string;
	workersMax?: number;
}

export interface HostConfig {
	hosts: Readonly<Record<string, HostSettings>>;
	/** Time after which silent workers on an unreachable host are given up, ms. */
	lostAfterMs: number;
}

export const NO_HOSTS: HostConfig = { hosts: {}, lostAfterMs: 300_000 };

const NAME = "^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$";

/** Labels have the same form. */
export const HOST_NAME = {
	type: "string",
	pattern: NAME,
	"x-message": "must be 1 to 63 of the characters a-z, A-Z, 0-9, _, . and -.",
} as const satisfies Schema;

const FILE = { type: "string", minLength: 1 } as const satisfies Schema;

const GPU_SCHEMA: Schema = {
	type: "object",
	additionalProperties: false,
	required: ["id", "model", "memoryGb"],
	properties: {
		id: { type: "string", pattern: "^\\S+$", "x-message": "must be the UUID of a GPU." },
		model: { type: "string", minLength: 1, "x-message": "must be a name such as NVIDIA L4." },
		memoryGb: { type: "number", exclusiveMinimum: 0, maximum: 10_000 },
		cuda: CUDA_VERSION,
	},
	"x-message": "must be an object such as { id: GPU-8f1c..., model: NVIDIA L4, memoryGb: 24 }.",
};

export const HOST_SCHEMA: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		docker: {
			type: "string",
			pattern: "^(ssh|tcp|unix)://[^\\s?#]+$",
			description:
				"Its daemon: ssh://user@host, optionally with port and the path of its socket; " +
				"tcp://host:2376 with tls; or unix:///path. Needed for each host but local, whose daemon " +
				"is that of DOCKER_HOST.",
			examples: ["ssh://sluice@rig1"],
			"x-message": "must be ssh://user@host, tcp://host:2376 or unix:///path.",
		},
		tls: {
			type: "object",
			additionalProperties: false,
			required: ["ca", "cert", "key"],
			properties: { ca: FILE, cert: FILE, key: FILE },
			description:
				"PEM files for tcp: the authority that signed the daemon's certificate, and the client " +
				"certificate with its key; relative to the folder of sluice.yaml.",
			"x-message": "must be an object of the PEM files { ca, cert, key }.",
		},
		insecure: {
			type: "boolean",
			default: false,
			description: "Allows tcp without tls to another machine: everyone in that network can then control it.",
		},
		workerUrl: {
			...webAddress("http://10.0.0.5:8080"),
			description: "Address at which workers on this host reach the service. Default: publicUrl.",
		},
		labels: {
			type: "array",
			maxItems: 64,
			items: HOST_NAME,
			description: "Names for groups of hosts, for launcher.hosts.",
			"x-message": "must be a list of words.",
		},
		gpus: {
			type: "array",
			maxItems: 64,
			items: GPU_SCHEMA,
			description:
				"Its GPUs: id (the UUID), model, memoryGb and perhaps cuda of each. Default: what nvidia-smi reports in a " +
				"container of gpuImage, if its daemon has the NVIDIA runtime.",
			"x-message": "must be a list of GPUs, each { id, model, memoryGb }.",
		},
		gpuImage: {
			type: "string",
			pattern: "^\\S{1,255}$",
			description:
				"Image on this host for reading its GPUs, one with glibc. Default: the image of the first " +
				"worker that needs a GPU.",
			"x-message": "must be the name of an image on the host, such as ubuntu:24.04.",
		},
		workersMax: {
			type: "integer",
			minimum: 1,
			maximum: 10_000,
			description: "Max workers on this host. Default: no limit but its GPUs.",
		},
	},
	"x-message": 'must be an object such as { docker: "ssh://sluice@rig1" }.',
};

export const HOSTS_SCHEMA: Schema = {
	type: "object",
	propertyNames: HOST_NAME,
	additionalProperties: HOST_SCHEMA,
	"x-message": "must be an object of host names to settings.",
};
