/** An endpoint's settings as RunPod's management API has them (D49). */
import type { Endpoint, LauncherSettings } from "../endpoints/endpoint.ts";
import { argsOf, commandIn, type ContainerCommand } from "./command.ts";
import { DEFAULT_DISK, type FLASHBOOT } from "./endpoint-members.ts";

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

/** The setting `management`: members as they were given, where other settings have less or nothing of them. */
export type ManagementSetting = Pick<EndpointContent, "disk"> &
	Partial<Pick<EndpointContent, "ports" | "flashboot" | "dataCenterIds" | "networkVolumes" | "args">> & {
		/** Where the launcher has no such setting. */
		registry?: string | undefined;
		gpu?: Pick<GpuContent, "pools" | "excludedTypes"> & CudaNeed;
		cpu?: readonly { id: string; vcpuCount: number }[];
	};

interface CudaNeed {
	allowedCudaVersions?: readonly string[];
	minCudaVersion?: string;
}

interface ContainerSettings extends LauncherSettings {
	image?: string;
	container?: string;
	command?: string[];
	/** `image`: that of the image, as the launcher slurm names it. */
	entrypoint?: "image" | string[];
	registry?: string;
	gpu?: CudaNeed;
}

export const LOCAL_CPU = "local";
const GB_PER_VCPU = 2;

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
		registry: launcher.registry ?? stored.registry ?? null,
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
	const { allowedCudaVersions = [], minCudaVersion = null } = (hasGpuNeed(launcher) ? launcher.gpu : gpu) ?? {};
	return { gpu: { pools: ["ANY"], ...gpu, count: gpusPerWorker, allowedCudaVersions, minCudaVersion } };
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

/** Whether the launcher has the setting `gpu`. */
export function hasGpuNeed({ type }: LauncherSettings): boolean {
	return type !== "slurm";
}

const DOCKER_SCHEME = "docker://";

/** Apptainer names images of registries with a scheme. */
export function isApptainer({ type, container = "apptainer" }: LauncherSettings & { container?: string }): boolean {
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
