import type { Schema } from "../../kernel/lib/schema.ts";
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { CONTAINER_COMMAND, ENTRYPOINT, GPU_NEED, image, list, volumes } from "../../kernel/launchers/settings.ts";
import type { NodeGpuNeed } from "./objects/gpu-affinity.ts";
import type { Json } from "./objects/merge.ts";

export interface KubernetesSettings {
	type: "kubernetes";
	image: string;
	/** Image with the program `sluice-http`; absent: that of the service's own Pod. */
	adapterImage?: string;
	command?: string[];
	entrypoint?: string[];
	namespace?: string;
	context?: string;
	imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
	imagePullSecrets?: string[];
	imagePullTries?: number;
	resources?: { requests?: Quantities; limits?: Quantities };
	gpuResource?: string;
	gpu?: NodeGpuNeed;
	/** `source:path` or `source:path:ro`; the source is a claim or an absolute path of the node. */
	volumes?: string[];
	shmSize?: string;
	runAsUser?: number;
	serviceAccount?: string;
	podTemplate?: Json;
}

export type Quantities = Record<string, string | number>;

export const IMAGE_PULL_TRIES = 3;
export const GPU_RESOURCE = "nvidia.com/gpu";

const NAME = "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$";
const QUANTITY = "^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$";

const QUANTITIES: Schema = {
	type: "object",
	additionalProperties: {
		oneOf: [
			{
				type: "string",
				pattern: QUANTITY,
				"x-message": "must be a quantity such as 500m, 2 or 8Gi.",
			},
			{ type: "number", minimum: 0 },
		],
		"x-message": "must be a quantity such as 500m, 2 or 8Gi.",
	},
};

export const SETTINGS: LauncherDefinition["settings"] = {
	required: ["image"],
	properties: {
		image: image("Image of the worker; the nodes pull it.", "registry.example.com/my-worker:1.0"),
		adapterImage: {
			type: "string",
			pattern: "^\\S{1,255}$",
			description:
				"Image of the adapter of an endpoint with http: one with the program sluice-http, such as Sluice's own, that " +
				"the nodes can pull. Default: that of the service, if it runs in a Pod that it may read.",
			examples: ["registry.example.com/sluice:0.1.0"],
			"x-message": "must be the name of an image, such as registry.example.com/sluice:0.1.0.",
		},
		command: CONTAINER_COMMAND,
		entrypoint: ENTRYPOINT,
		namespace: {
			type: "string",
			pattern: NAME,
			title: "Namespace",
			description: "Namespace of the Pods; by default that of the credentials.",
			examples: ["jobs"],
			"x-message": "must be the name of a namespace, such as jobs.",
		},
		context: {
			type: "string",
			minLength: 1,
			description: "Context of the kubeconfig; by default the current one.",
		},
		imagePullPolicy: {
			enum: ["Always", "IfNotPresent", "Never"],
			description: "When nodes pull the image, and that of the adapter; by default Kubernetes' own rule.",
		},
		imagePullSecrets: list(NAME, "must be the name of a Secret, such as registry.", {
			description: "Names of Secrets in the namespace with credentials for the registry.",
			"x-message": "must be a list of the names of Secrets, such as [registry].",
		}),
		imagePullTries: {
			type: "integer",
			minimum: 1,
			maximum: 20,
			default: IMAGE_PULL_TRIES,
			description: "Failed pulls after which the worker counts as failed.",
		},
		resources: {
			type: "object",
			additionalProperties: false,
			properties: { requests: QUANTITIES, limits: QUANTITIES },
			description:
				"Resources that it requests and may use at most, such as { requests: { cpu: 500m }, limits: " +
				"{ memory: 8Gi } }. GPUs follow from gpusPerWorker.",
			"x-message": "must be { requests: ..., limits: ... } with quantities such as { memory: 8Gi }.",
		},
		gpuResource: {
			type: "string",
			pattern: "^[a-z0-9.-]+/[A-Za-z0-9._-]+$",
			default: GPU_RESOURCE,
			description: "Resource that stands for one GPU of gpusPerWorker: nvidia.com/gpu, amd.com/gpu, or a MIG profile.",
			"x-message": "must be the name of a resource, such as nvidia.com/gpu.",
		},
		gpu: {
			type: "object",
			additionalProperties: false,
			properties: GPU_NEED,
			description:
				"Which nodes its workers can use, by the labels of NVIDIA's GPU feature discovery, which is part of the GPU " +
				"operator. Added to the node affinity of podTemplate.",
			"x-message": 'must be an object such as { models: [NVIDIA L4], minCudaVersion: "12.4" }.',
		},
		volumes: volumes(
			"Volumes it sees, as source:/path or source:/path:ro: a PersistentVolumeClaim by its name, or a " +
				"folder of the node by its absolute path. Models belong to /runpod-volume.",
		),
		shmSize: {
			type: "string",
			pattern: QUANTITY,
			description: "Size of /dev/shm in memory, such as 2Gi; by default the 64 MiB of the runtime.",
			"x-message": "must be a quantity such as 512Mi or 2Gi.",
		},
		runAsUser: {
			type: "integer",
			minimum: 0,
			maximum: 2 ** 31 - 1,
			description:
				"User number of the worker, with http of its server, by default that of the image, which must not be root. " +
				"0 permits root; a namespace with the restricted standard refuses it.",
		},
		serviceAccount: {
			type: "string",
			pattern: NAME,
			description: "Service account of the Pods; its token is not mounted.",
			"x-message": "must be the name of a service account, such as workers.",
		},
		podTemplate: {
			type: "object",
			description:
				"Merged over the Pod: node selector, affinity, runtime class, sidecars, anything else. The " +
				"worker's container is named worker, with http that of the adapter, and the other one server; null removes a " +
				"member.",
			examples: [{ spec: { nodeSelector: { "gpu.model": "a100" } } }],
			"x-message": "must be a part of a Pod, such as { spec: { nodeSelector: { disk: ssd } } }.",
		},
	},
};
