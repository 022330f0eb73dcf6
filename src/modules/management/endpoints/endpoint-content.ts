/** An endpoint's settings as RunPod's management API has them (D49). */
import type { Endpoint, LauncherSettings } from "../../../kernel/core/endpoints/endpoint.ts";
import type { GpuNeed } from "../../../kernel/core/workers/gpu-need.ts";
import { argsOf, commandIn, type ContainerCommand } from "./command.ts";
import { ANY_GPU, gpuNeedIn, gpuRequestOf, type GpuRequest, slurmGpuIn } from "./gpu-pools.ts";
import { isSame } from "../../../kernel/lib/same.ts";
import {
	DEFAULT_DISK,
	type FLASHBOOT,
	type ManagementSetting,
	type StoredGpu,
} from "../../../kernel/core/endpoints/management-setting.ts";

export interface GpuContent {
	pools: readonly string[];
	excludedTypes?: readonly string[];
	count: number;
	allowedCudaVersions: readonly string[];
	minCudaVersion: string | null;
}

export type Scaling = { type: "QUEUE_DELAY"; queueDelay: number } | { type: "REQUEST_COUNT"; requestCount: number };

export interface EndpointContent extends ContainerCommand {
	name: string;
	image: string;
	args: string;
	/** GB. */
	disk: number;
	ports: readonly string[];
	env: Readonly<Record<string, string>>;
	registry: string | null;
	gpu: GpuContent | null;
	/** Absent with `gpu`. `memory`: GB. */
	cpu?: readonly { id: string; vcpuCount: number; memory: number }[];
	/** `idleTimeout`: seconds. Absent with REQUEST_COUNT. */
	workers: { min: number; max: number; idleTimeout?: number };
	scaling: Scaling;
	dataCenterIds: readonly string[];
	networkVolumes: readonly string[];
	/** Ms. */
	timeout: number;
	flashboot: (typeof FLASHBOOT)[number];
}

interface ContainerSettings extends LauncherSettings {
	image?: string;
	container?: string;
	command?: string[];
	/** `image`: that of the image, as the launcher slurm names it. */
	entrypoint?: "image" | string[];
	registry?: string;
	gpu?: GpuNeed;
	gpuType?: string;
}

export const LOCAL_CPU = "local";
export const GB_PER_VCPU = 2;

export function contentOf(endpoint: Endpoint): EndpointContent {
	const { name, env, workersMin, workersMax, idleTimeout, executionTimeoutMs, scalerType, scalerValue } = endpoint;
	const stored: Partial<ManagementSetting> = endpoint.management ?? {};
	const launcher = endpoint.launcher as ContainerSettings;
	const command = commandOf(launcher);
	const byCount = scalerType === "REQUEST_COUNT";
	return {
		name,
		image: shownImage(launcher),
		args: means(stored.args, command) ? stored.args : argsOf(command),
		...command,
		disk: stored.disk ?? DEFAULT_DISK,
		ports: stored.ports ?? [],
		env,
		registry: launcher.registry ?? null,
		...compute(endpoint, stored, launcher),
		workers: { min: workersMin, max: workersMax, ...(byCount ? {} : { idleTimeout }) },
		scaling: byCount ? { type: scalerType, requestCount: scalerValue } : { type: scalerType, queueDelay: scalerValue },
		dataCenterIds: stored.dataCenterIds ?? [],
		networkVolumes: stored.networkVolumes ?? [],
		timeout: executionTimeoutMs,
		flashboot: stored.flashboot ?? "OFF",
	};
}

function compute(
	{ gpusPerWorker }: Endpoint,
	{ gpu, cpu }: Partial<ManagementSetting>,
	launcher: ContainerSettings,
): Pick<EndpointContent, "gpu" | "cpu"> {
	if (gpusPerWorker === 0) {
		const flavours = cpu ?? [{ id: LOCAL_CPU, vcpuCount: 2 }];
		return { gpu: null, cpu: flavours.map((each) => ({ ...each, memory: each.vcpuCount * GB_PER_VCPU })) };
	}
	const { pools, excludedTypes, allowedCudaVersions = [], minCudaVersion } = shownGpu(launcher, gpu);
	return {
		gpu: {
			pools,
			...(excludedTypes && { excludedTypes }),
			count: gpusPerWorker,
			allowedCudaVersions,
			minCudaVersion: minCudaVersion ?? null,
		},
	};
}

/** The request as it was given, unless the launcher's settings were changed since. */
function shownGpu(launcher: ContainerSettings, stored: StoredGpu | undefined): GpuRequest {
	const { gpu, gpuType = ANY_GPU } = launcher;
	if (stored && isSame(gpuSettings(launcher, stored), { gpu, gpuType: launcher.gpuType })) return stored;
	return launcher.type === "slurm" ? { pools: [gpuType] } : gpuRequestOf(gpu ?? {});
}

/** Settings of the launcher; an undefined one is removed. `fault`: a sentence. */
export function gpuSettings(
	launcher: LauncherSettings & { gpu?: GpuNeed },
	request: GpuRequest,
	known?: readonly string[],
): { gpu?: GpuNeed | undefined; gpuType?: string | undefined } | { fault: string } {
	if (launcher.type === "slurm") {
		const found = slurmGpuIn(request);
		return "fault" in found ? found : { gpuType: found.gpuType };
	}
	const need = gpuNeedIn(request, known);
	if ("fault" in need) return need;
	const {
		models: _,
		excludedModels: __,
		allowedCudaVersions: ___,
		minCudaVersion: ____,
		...others
	} = launcher.gpu ?? {};
	const gpu = { ...others, ...need };
	return { gpu: Object.keys(gpu).length > 0 ? gpu : undefined };
}

function commandOf({ command = [], entrypoint = [] }: ContainerSettings): ContainerCommand {
	return { entrypoint: entrypoint === "image" ? [] : entrypoint, cmd: command };
}

/** A launcher may have got another command since the text was given. */
function means(args: string | undefined, command: ContainerCommand): args is string {
	if (args === undefined) return false;
	const meant = commandIn(args);
	return !("fault" in meant) && argsOf(meant) === argsOf(command);
}

const DOCKER_SCHEME = "docker://";

/** Apptainer names images of registries with a scheme. */
function isApptainer({ type, container = "apptainer" }: LauncherSettings & { container?: string }): boolean {
	return type === "slurm" && container === "apptainer";
}

export function launcherImage(launcher: LauncherSettings, image: string): string {
	const isFile = image.startsWith("/") || image.includes("://");
	return isApptainer(launcher) && !isFile ? DOCKER_SCHEME + image : image;
}

function shownImage(launcher: ContainerSettings): string {
	const { image = "" } = launcher;
	return isApptainer(launcher) && image.startsWith(DOCKER_SCHEME) ? image.slice(DOCKER_SCHEME.length) : image;
}
