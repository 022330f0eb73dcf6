/** Which GPUs the workers of an endpoint can use (D44). */
import { listText } from "../../lib/schema.ts";
import { compareVersions } from "./cuda.ts";
import { RESERVE_GB } from "./gpu-part.ts";
import type { HostGpu } from "./hosts.ts";

/** `launcher.gpu`. GPUs whose CUDA version is not known fit. */
export interface GpuNeed {
	/** Part of the name, in any case. */
	model?: string | undefined;
	/** Whole names, as `nvidia-smi` prints them: any of these. */
	models?: readonly string[] | undefined;
	/** Whole names. */
	excludedModels?: readonly string[] | undefined;
	/** In 10^9 bytes. */
	memoryMinGb?: number | undefined;
	/** Such as `12.4`. */
	minCudaVersion?: string | undefined;
	/** The newest CUDA version of the driver must be one of these. */
	allowedCudaVersions?: readonly string[] | undefined;
}

export function suits({ model, memoryGb, cuda }: Omit<HostGpu, "id">, need: GpuNeed = {}): boolean {
	const { models, excludedModels, minCudaVersion, allowedCudaVersions: allowed = [] } = need;
	return (
		model.toLowerCase().includes((need.model ?? "").toLowerCase()) &&
		(models === undefined || models.includes(model)) &&
		excludedModels?.includes(model) !== true &&
		memoryGb >= (need.memoryMinGb ?? 0) &&
		(minCudaVersion === undefined || cuda === undefined || compareVersions(cuda, minCudaVersion) >= 0) &&
		(allowed.length === 0 || cuda === undefined || allowed.includes(cuda))
	);
}

/** Begins with a space, for a sentence such as `1 of 2 GPUs is L4 with 24 GB or more`; empty for any GPU. */
export function needText(need: GpuNeed = {}, memoryGb?: number): string {
	const { model, models, excludedModels = [], memoryMinGb, minCudaVersion, allowedCudaVersions: allowed = [] } = need;
	const leastGb = memoryGb === undefined ? memoryMinGb : Math.max(memoryMinGb ?? 0, memoryGb + RESERVE_GB);
	const parts = [
		...(model === undefined ? [] : [model]),
		...(models ? [listText(models)] : []),
		...(excludedModels.length > 0 ? [`other than ${listText(excludedModels)}`] : []),
		...(leastGb === undefined ? [] : [`with ${leastGb} GB or more`]),
		...(minCudaVersion === undefined ? [] : [`with a driver for CUDA ${minCudaVersion}`]),
		...(allowed.length > 0 ? [`with a driver of CUDA ${listText(allowed)}`] : []),
	];
	return parts.length === 0 ? "" : ` ${parts.join(" ")}`;
}
