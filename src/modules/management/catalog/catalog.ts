/** What the catalog of the management API lists: the GPUs of this service's machines, without prices (D49). */
import { compareVersions } from "../../../kernel/core/workers/cuda.ts";
import type { GpuView } from "../../../kernel/core/workers/gpus.ts";
import { type AVAILABILITY, DATA_CENTER } from "../routes/catalog.ts";
import { GB_PER_VCPU, LOCAL_CPU } from "../endpoints/endpoint-content.ts";
import { poolOf } from "../endpoints/gpu-pools.ts";

type Availability = (typeof AVAILABILITY)[number];

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

/** The types with what is free of them. */
export function availableTypes(gpus: readonly GpuView[]) {
	const models = byModel(gpus);
	return gpuTypes(gpus).map((type) => {
		const all = models.get(type.id) ?? [];
		const availability = availabilityOf(all);
		const versions = [...new Set(all.flatMap(({ cuda }) => cuda ?? []))];
		return {
			...type,
			availability,
			dataCenters: [{ ...DATA_CENTER, availability }],
			cudaVersions: versions.toSorted(compareVersions).map((version) => ({
				version,
				available: all.some((gpu) => gpu.cuda === version && gpu.holders.length === 0),
			})),
		};
	});
}

/** How many workers with one GPU could start: none, one, up to three, or more. */
function availabilityOf(gpus: readonly GpuView[]): Availability {
	const free = gpus.filter(({ holders }) => holders.length === 0).length;
	return free === 0 ? "NONE" : free === 1 ? "LOW" : free < 4 ? "MEDIUM" : "HIGH";
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
