/** What the catalog of the management API lists: the GPUs of this service's machines, without prices (D49). */
import { compareVersions } from "../workers/cuda.ts";
import { suits } from "../workers/gpu-need.ts";
import type { GpuView } from "../workers/gpus.ts";
import { LOCAL } from "../workers/hosts.ts";
import { GB_PER_VCPU, LOCAL_CPU } from "./endpoint-content.ts";
import { poolOf } from "./gpu-pools.ts";

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
type Availability = (typeof AVAILABILITY)[number];

export interface GpuFilter {
	/** GPUs of one worker. */
	count: number;
	/** Whether endpoints are asked for; there are no pods and clusters. */
	isServerless: boolean;
	/** Whether the machines of others are asked for, or those of a country, which no machine here is known to be in. */
	isElsewhere: boolean;
	minCudaVersion?: string | undefined;
	allowedCudaVersions?: readonly string[] | undefined;
}

/** One for each known model, in the order of the GPUs. `memory`: in 2^30 bytes. */
export function gpuTypes(gpus: readonly GpuView[]) {
	return [...byModel(gpus)].map(([id, all]) => ({
		id,
		name: id.replace(/^(?:NVIDIA|AMD) (?:GeForce )?/, ""),
		pool: poolOf(id),
		manufacturer: manufacturerOf(id),
		memory: Math.round((Math.max(...all.map(({ memoryGb = 0 }) => memoryGb)) * 1e9) / 2 ** 30),
		secure: true,
		community: false,
		price: { secure: 0, community: 0 },
		maxCount: { secure: Math.max(...onHosts(all).map((own) => own.length)), community: 0 },
	}));
}

/** The types that a filter leaves, with what is free of them. */
export function availableTypes(gpus: readonly GpuView[], filter: GpuFilter) {
	if (filter.isElsewhere) return [];
	const models = byModel(gpus.filter((gpu) => hasVersion(gpu, filter)));
	return gpuTypes(gpus).flatMap((type) => {
		const fitting = models.get(type.id);
		if (!fitting) return [];
		const availability = filter.isServerless ? availabilityOf(fitting, filter.count) : "NONE";
		const versions = [...new Set((byModel(gpus).get(type.id) ?? []).flatMap(({ cuda }) => cuda ?? []))];
		return {
			...type,
			availability,
			dataCenters: [{ ...DATA_CENTER, availability }],
			cudaVersions: versions.toSorted(compareVersions).map((version) => ({
				version,
				available: fitting.some((gpu) => gpu.cuda === version && gpu.holders.length === 0),
			})),
		};
	});
}

/** How many workers could start: none, one, up to three, or more. */
function availabilityOf(gpus: readonly GpuView[], count: number): Availability {
	const free = gpus.filter(({ holders }) => holders.length === 0);
	const places = onHosts(free).reduce((sum, own) => sum + Math.floor(own.length / count), 0);
	return places === 0 ? "NONE" : places === 1 ? "LOW" : places < 4 ? "MEDIUM" : "HIGH";
}

function hasVersion({ cuda }: GpuView, { minCudaVersion, allowedCudaVersions }: GpuFilter): boolean {
	return suits({ model: "", memoryGb: 0, cuda }, { minCudaVersion, allowedCudaVersions });
}

function byModel(gpus: readonly GpuView[]): Map<string, GpuView[]> {
	const known = gpus.filter(({ model }) => model !== undefined);
	return Map.groupBy(known, ({ model }) => model!);
}

const onHosts = (gpus: readonly GpuView[]): GpuView[][] => [...Map.groupBy(gpus, ({ host }) => host).values()];

function manufacturerOf(model: string): "NVIDIA" | "AMD" | "UNKNOWN" {
	if (/^(?:AMD|Radeon)\b/.test(model)) return "AMD";
	return /^(?:NVIDIA|Tesla|Quadro|GRID)\b/.test(model) ? "NVIDIA" : "UNKNOWN";
}

/** The kind of processors of this machine. Counts are powers of two, as in RunPod's requests. */
export function cpuType(cores: number) {
	return {
		id: LOCAL_CPU,
		name: "Processor of this machine",
		group: DATA_CENTER.name,
		vcpu: { min: 2, max: Math.max(2, 2 ** Math.floor(Math.log2(cores))) },
		ramGbPerVcpu: GB_PER_VCPU,
		price: { securePerVcpu: 0, serverlessPerVcpu: 0 },
	};
}
