/** GPU pools of RunPod's management API as models of GPUs. */
import { listText } from "../../../kernel/lib/schema.ts";
import type { GpuNeed } from "../../../kernel/core/workers/gpu-need.ts";
import type { GpuView } from "../../../kernel/core/workers/gpus.ts";
import type { HostView } from "../../../kernel/core/workers/hosts.ts";

/** `gpu` of an endpoint, without its count. */
export interface GpuRequest {
	/** Names of pools, names of models as `nvidia-smi` prints them, or {@link ANY_GPU}. */
	pools: readonly string[];
	excludedTypes?: readonly string[] | undefined;
	allowedCudaVersions?: readonly string[] | undefined;
	minCudaVersion?: string | null | undefined;
}

/** A pool of all models. */
export const ANY_GPU = "ANY";

/** Models by pool, as RunPod's reference of GPU types and its SDK have them. */
const POOLS: ReadonlyMap<string, readonly string[]> = new Map(
	Object.entries({
		AMPERE_16: [
			"NVIDIA RTX A4000",
			"NVIDIA RTX A4500",
			"NVIDIA RTX 4000 Ada Generation",
			"NVIDIA RTX 4000 SFF Ada Generation",
			"NVIDIA RTX 2000 Ada Generation",
		],
		AMPERE_24: ["NVIDIA L4", "NVIDIA RTX A5000", "NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090 Ti"],
		ADA_24: ["NVIDIA GeForce RTX 4090"],
		ADA_32_PRO: ["NVIDIA GeForce RTX 5090"],
		AMPERE_48: ["NVIDIA A40", "NVIDIA RTX A6000"],
		ADA_48_PRO: ["NVIDIA L40", "NVIDIA L40S", "NVIDIA RTX 6000 Ada Generation"],
		AMPERE_80: ["NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"],
		ADA_80_PRO: ["NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL"],
		HOPPER_141: ["NVIDIA H200", "NVIDIA H200 NVL"],
		BLACKWELL_96: [
			"NVIDIA RTX PRO 6000 Blackwell Server Edition",
			"NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
			"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
		],
		BLACKWELL_180: ["NVIDIA B200"],
	}),
);

/** Null: none of RunPod's pools has the model. */
export function poolOf(model: string): string | null {
	return [...POOLS].find(([, models]) => models.includes(model))?.[0] ?? null;
}

/**
 * What workers need of their GPUs. `known`: models of all machines where they may start, undefined if some are not
 * known. `fault`: a sentence.
 */
export function gpuNeedIn(request: GpuRequest, known: readonly string[] | undefined): GpuNeed | { fault: string } {
	const { pools, excludedTypes: excluded = [], allowedCudaVersions: allowed = [], minCudaVersion } = request;
	const all = pools.includes(ANY_GPU) ? undefined : [...new Set(pools.flatMap(modelsOf))];
	const foreign = all ? excluded.filter((type) => !all.includes(type)) : [];
	if (foreign.length > 0) return { fault: `gpu.excludedTypes: ${listText(foreign, "and")} is in none of the pools.` };
	const models = all?.filter((model) => !excluded.includes(model));
	if (models?.length === 0) return { fault: "gpu.excludedTypes must leave at least one type of the pools." };
	const fitting = known?.filter((model) => models?.includes(model) ?? !excluded.includes(model));
	if (known && fitting?.length === 0) return { fault: noneText(request, known) };
	return {
		...(models && { models }),
		...(!models && excluded.length > 0 && { excludedModels: excluded }),
		...(allowed.length > 0 && { allowedCudaVersions: allowed }),
		...(minCudaVersion && { minCudaVersion }),
	};
}

/** Slurm knows types by the names of its site, and no versions of CUDA. `fault`: a sentence. */
export function slurmGpuIn(request: GpuRequest): { gpuType?: string } | { fault: string } {
	const { pools, excludedTypes = [], allowedCudaVersions = [], minCudaVersion } = request;
	const given = { excludedTypes: excludedTypes.length > 0, allowedCudaVersions: allowedCudaVersions.length > 0 };
	const [without] = Object.entries({ ...given, minCudaVersion: Boolean(minCudaVersion) }).find(([, is]) => is) ?? [];
	if (without !== undefined)
		return { fault: `gpu.${without} has no meaning on Slurm: choose nodes by launcher.constraint of the endpoint.` };
	const [pool = ANY_GPU, ...more] = pools;
	if (more.length > 0 || POOLS.has(pool) || /[^A-Za-z0-9_.,-]/.test(pool))
		return { fault: `gpu.pools must be one type of GPU as the Slurm cluster names it, such as a100, or ${ANY_GPU}.` };
	return pool === ANY_GPU ? {} : { gpuType: pool };
}

/** The request that a need was made of, as far as the API can say it. */
export function gpuRequestOf({ models, excludedModels, allowedCudaVersions, minCudaVersion }: GpuNeed): GpuRequest {
	return {
		pools: models ?? [ANY_GPU],
		...(excludedModels && { excludedTypes: excludedModels }),
		allowedCudaVersions: allowedCudaVersions ?? [],
		minCudaVersion: minCudaVersion ?? null,
	};
}

/** The models of these GPUs. Undefined where one has no known model, or the GPUs of a host were not read. */
export function knownModels(
	gpus: readonly Pick<GpuView, "model">[],
	hosts: readonly Pick<HostView, "areGpusKnown">[],
): string[] | undefined {
	const models = gpus.flatMap(({ model }) => model ?? []);
	const isWhole = models.length === gpus.length && hosts.every(({ areGpusKnown }) => areGpusKnown);
	return isWhole ? [...new Set(models)] : undefined;
}

const modelsOf = (pool: string): readonly string[] => POOLS.get(pool) ?? [pool];

function noneText({ pools, excludedTypes = [] }: GpuRequest, known: readonly string[]): string {
	const less = excludedTypes.length > 0 ? ` without ${listText(excludedTypes, "and")}` : "";
	const present = known.length === 0 ? "no GPUs" : listText(known, "and");
	return `No machine has a GPU of gpu.pools ${listText(pools, "and")}${less}: the machines have ${present}.`;
}
