/** GPUs, processors and data centres that endpoints of the management API can name (D49). */
import { LOCAL } from "../../../kernel/core/workers/hosts.ts";
import { words } from "../../../kernel/api/definition/params.ts";
import { managed } from "./operation.ts";
import { FLAG, list, listIn, object, TEXT, TEXTS } from "../../../kernel/api/definition/schema.ts";

/** The only one. */
export const DATA_CENTER = { id: LOCAL, name: "Local" } as const;

/** The same with what its machines have. */
export const CENTER = {
	...DATA_CENTER,
	region: "UNKNOWN",
	globalNetwork: false,
	networkVolumeTypes: ["STANDARD"],
	compliance: [],
} as const;

export const AVAILABILITY = ["NONE", "LOW", "MEDIUM", "HIGH"] as const;

const NUMBER = { type: "number", minimum: 0 } as const;
const INTEGER = { type: "integer", minimum: 0 } as const;
const LEVEL = { enum: AVAILABILITY } as const;
const AVAILABLE = object({ id: TEXT, name: TEXT, availability: LEVEL });

const GPU_TYPE = object({
	id: { ...TEXT, description: "As nvidia-smi calls it; also a pool of its own." },
	name: TEXT,
	pool: { type: ["string", "null"], description: "The pool of RunPod that has this model." } as const,
	manufacturer: { enum: ["NVIDIA", "AMD", "UNKNOWN"] } as const,
	memory: { ...INTEGER, description: "In 2^30 bytes." },
	secure: FLAG,
	community: FLAG,
	price: object({ secure: NUMBER, community: NUMBER }, { description: "Always 0." }),
	maxCount: object({ secure: INTEGER, community: INTEGER }, { description: "GPUs of this model on one machine." }),
	"availability?": LEVEL,
	"dataCenters?": list(AVAILABLE),
	"cudaVersions?": list(object({ version: TEXT, available: FLAG })),
});

const CPU_TYPE = object({
	id: TEXT,
	name: TEXT,
	group: TEXT,
	vcpu: object({ min: INTEGER, max: INTEGER }),
	ramGbPerVcpu: NUMBER,
	price: object({ securePerVcpu: NUMBER, serverlessPerVcpu: NUMBER }, { description: "Always 0." }),
	"availability?": LEVEL,
	"dataCenters?": list(AVAILABLE),
});

const REGIONS = [
	"NORTH_AMERICA",
	"SOUTH_AMERICA",
	"EUROPE",
	"ASIA",
	"MIDDLE_EAST",
	"AFRICA",
	"OCEANIA",
	"ANTARCTICA",
	"UNKNOWN",
] as const;

const DATA_CENTER_TYPE = object({
	id: TEXT,
	name: TEXT,
	region: { enum: REGIONS },
	globalNetwork: FLAG,
	networkVolumeTypes: TEXTS,
	compliance: TEXTS,
	"gpuAvailability?": list(AVAILABLE),
	"cpuAvailability?": list(AVAILABLE),
});

export const INCLUDE = words("include", ["AVAILABILITY"], "What is free for a worker as well.");
export const CENTER_INCLUDE = words("include", ["GPU_AVAILABILITY", "CPU_AVAILABILITY"], "What is free as well.");

export const LIST_GPU_TYPES = managed("listGpuTypes", "GET /v2/catalog/gpus", {
	summary: "Models of the GPUs of this machine and of Docker hosts.",
	answer: {
		description: "Those that are known. What the nodes of a Kubernetes or Slurm cluster have is not.",
		schema: listIn("gpus", GPU_TYPE),
	},
	query: [INCLUDE],
});

const GET_GPU_TYPE = managed("getGpuType", "GET /v2/catalog/gpus/:id", {
	summary: "One model of GPUs.",
	answer: { description: "The model.", schema: GPU_TYPE },
	query: [INCLUDE],
	errors: ["resource_not_found"],
});

export const LIST_CPU_TYPES = managed("listCpuTypes", "GET /v2/catalog/cpus", {
	summary: "The processor of this machine.",
	answer: { description: "One.", schema: listIn("cpus", CPU_TYPE) },
	query: [INCLUDE],
});

const GET_CPU_TYPE = managed("getCpuType", "GET /v2/catalog/cpus/:id", {
	summary: "One kind of processors.",
	answer: { description: "The kind.", schema: CPU_TYPE },
	query: [INCLUDE],
	errors: ["resource_not_found"],
});

export const LIST_DATA_CENTERS = managed("listDataCenters", "GET /v2/catalog/datacenters", {
	summary: "The data centre: this service's machines.",
	answer: {
		description: `One, ${CENTER.id}.`,
		schema: listIn("dataCenters", DATA_CENTER_TYPE),
	},
	query: [CENTER_INCLUDE],
});

const GET_DATA_CENTER = managed("getDataCenter", "GET /v2/catalog/datacenters/:id", {
	summary: "One data centre.",
	answer: { description: "The data centre.", schema: DATA_CENTER_TYPE },
	query: [CENTER_INCLUDE],
	errors: ["resource_not_found"],
});

export const CATALOG_ROUTES = [
	LIST_GPU_TYPES,
	GET_GPU_TYPE,
	LIST_CPU_TYPES,
	GET_CPU_TYPE,
	LIST_DATA_CENTERS,
	GET_DATA_CENTER,
] as const;
