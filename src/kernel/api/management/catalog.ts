/** GPUs, processors and data centres that endpoints of the management API can name (D49). */
import { AVAILABILITY, CENTER } from "../../core/management/catalog.ts";
import { type Param, whole, word, words } from "../definition/params.ts";
import { managed } from "./operation.ts";
import { FLAG, list, listIn, object, TEXT, TEXTS } from "../definition/schema.ts";

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

const COMPLIANCE = [
	"GDPR",
	"ISO_IEC_27001",
	"ISO_14001",
	"PCI_DSS",
	"HITRUST",
	"SOC_1_TYPE_2",
	"SOC_2_TYPE_2",
	"SOC_3_TYPE_2",
	"ITAR",
	"FISMA_HIGH",
	"HIPAA",
	"RENEWABLE",
] as const;

const VOLUME_TYPES = ["STANDARD", "HIGH_PERFORMANCE"] as const;

const DATA_CENTER = object({
	id: TEXT,
	name: TEXT,
	region: { enum: REGIONS },
	globalNetwork: FLAG,
	networkVolumeTypes: TEXTS,
	compliance: TEXTS,
	"gpuAvailability?": list(AVAILABLE),
	"cpuAvailability?": list(AVAILABLE),
});

export const INCLUDE = words("include", ["AVAILABILITY"], "What is free as well. Needs product.");
export const GPU_PRODUCT = words(
	"product",
	["POD", "CLUSTER", "SERVERLESS"],
	"What it is to be free for; only SERVERLESS exists here. Needs include.",
);
export const CPU_PRODUCT = words("product", ["POD", "SERVERLESS"], GPU_PRODUCT.description);
export const COUNT = whole("count", {
	minimum: 1,
	maximum: 1024,
	description: "GPUs of one worker, 1 if it is absent. Needs include.",
});
export const CLOUD = word("cloud", ["SECURE", "COMMUNITY"], "All machines are SECURE. Needs include.");

/** `bound` completes "it must be ...". */
function listed(name: string, pattern: RegExp, q: { bound: string; description: string }): Param<string[]> {
	return {
		...q,
		name,
		schema: { type: "array", items: { type: "string", pattern: pattern.source } },
		read(text) {
			const all = text.split(",");
			return all.every((each) => pattern.test(each)) ? all : undefined;
		},
	};
}

export const COUNTRIES = listed("countryCodes", /^[A-Z]{2}$/, {
	bound: "one or more codes of two capital letters, separated by commas",
	description: "No machine is known to be in any country. Needs include.",
});
export const CUDA_VERSIONS = listed("cudaVersions", /^\d{1,3}\.\d{1,3}$/, {
	bound: "one or more versions such as 12.4, separated by commas",
	description: "Newest CUDA versions of drivers. Needs include; not with minCudaVersion.",
});

const SHORT_VERSION = /^\d{1,3}(\.\d{1,3})?$/;

export const MIN_CUDA: Param<string> = {
	name: "minCudaVersion",
	bound: "a version such as 12 or 12.4",
	description: "Least CUDA version of drivers. Needs include; not with cudaVersions.",
	schema: { type: "string", pattern: SHORT_VERSION.source },
	read: (text) => (SHORT_VERSION.test(text) ? text : undefined),
};
export const VCPU_COUNT: Param<number> = {
	name: "vcpuCount",
	bound: "a power of two from 2 to 1024",
	description: "Processors of one worker. Needs include.",
	schema: { type: "integer", minimum: 2, maximum: 1024 },
	read: (text) => [...Array(10).keys()].map((power) => 2 ** (power + 1)).find((each) => String(each) === text),
};
export const CENTER_INCLUDE = words("include", ["GPU_AVAILABILITY", "CPU_AVAILABILITY"], "What is free as well.");
export const REGION_FILTER = words("regions", REGIONS, "Those in any of these.");
export const VOLUME_FILTER = words("networkVolumeTypes", VOLUME_TYPES, "Those that have all of these.");
export const COMPLIANCE_FILTER = words("compliance", COMPLIANCE, "Those that have all of these.");
export const GLOBAL_NETWORK = word(
	"globalNetwork",
	["true", "false"],
	"Those with or without one; there is none here.",
);

const GPU_QUERY = [INCLUDE, GPU_PRODUCT, COUNT, CLOUD, COUNTRIES, CUDA_VERSIONS, MIN_CUDA] as const;
const CPU_QUERY = [INCLUDE, CPU_PRODUCT, VCPU_COUNT] as const;

export const LIST_GPU_TYPES = managed("listGpuTypes", "GET /v2/catalog/gpus", {
	summary: "Models of the GPUs of this machine and of Docker hosts.",
	answer: {
		description: "Those that are known. What the nodes of a Kubernetes or Slurm cluster have is not.",
		schema: listIn("gpus", GPU_TYPE),
	},
	query: GPU_QUERY,
	errors: ["bad_request"],
});

export const GET_GPU_TYPE = managed("getGpuType", "GET /v2/catalog/gpus/:id", {
	summary: "One model of GPUs.",
	answer: { description: "The model.", schema: GPU_TYPE },
	query: GPU_QUERY,
	errors: ["bad_request", "resource_not_found"],
});

export const LIST_CPU_TYPES = managed("listCpuTypes", "GET /v2/catalog/cpus", {
	summary: "The processor of this machine.",
	answer: { description: "One.", schema: listIn("cpus", CPU_TYPE) },
	query: CPU_QUERY,
	errors: ["bad_request"],
});

export const GET_CPU_TYPE = managed("getCpuType", "GET /v2/catalog/cpus/:id", {
	summary: "One kind of processors.",
	answer: { description: "The kind.", schema: CPU_TYPE },
	query: CPU_QUERY,
	errors: ["bad_request", "resource_not_found"],
});

export const LIST_DATA_CENTERS = managed("listDataCenters", "GET /v2/catalog/datacenters", {
	summary: "The data centre: this service's machines.",
	answer: {
		description: `One, ${CENTER.id}, unless a filter leaves it out.`,
		schema: listIn("dataCenters", DATA_CENTER),
	},
	query: [CENTER_INCLUDE, REGION_FILTER, VOLUME_FILTER, COMPLIANCE_FILTER, GLOBAL_NETWORK],
});

export const GET_DATA_CENTER = managed("getDataCenter", "GET /v2/catalog/datacenters/:id", {
	summary: "One data centre.",
	answer: { description: "The data centre.", schema: DATA_CENTER },
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
