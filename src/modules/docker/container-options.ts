/** A worker's container in terms of the Docker Engine API (D25). */
import { gpuPartEnv, machineEnv } from "../../kernel/core/workers/worker-env.ts";
import type { WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { loopbackOf } from "../../kernel/launchers/loopback.ts";
import type { DockerSettings } from "./settings.ts";

const MACHINE = "host.docker.internal";

export const LABELS = {
	service: "sluice.service",
	worker: "sluice.worker",
	endpoint: "sluice.endpoint",
	/** GPU ids on a host, comma separated. */
	gpus: "sluice.gpus",
	/** Part of each of these GPUs in 10^9 bytes; absent: the whole GPU. */
	gpuMemory: "sluice.gpu-memory-gb",
	/** `adapter` or `server`: which of the two containers of a worker it is. Absent: the worker has only this one. */
	part: "sluice.part",
} as const;

export interface ContainerContext {
	network: string;
	/** Address for {@link MACHINE} if the daemon has none. */
	machine?: string | undefined;
	/** Address of the service for this container, in place of the worker's. */
	url?: string | undefined;
	gpus?: readonly string[] | undefined;
	/** Memory of the largest of its GPUs, in 10^9 bytes. */
	gpuSizeGb?: number | undefined;
	/** Name of the host, if the configuration has several. */
	place?: string | undefined;
	/** Default: true. False for a daemon without the right to raise limits. */
	raisesLimits?: boolean;
}

const DAEMON_LOG = { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } };

/** Limits that PyTorch and CUDA need: memory that the GPU reads is locked, and threads have large stacks. */
const ULIMITS = [
	{ Name: "memlock", Soft: -1, Hard: -1 },
	{ Name: "stack", Soft: 64 * 1024 ** 2, Hard: 64 * 1024 ** 2 },
];

/** Bounds of /dev/shm without `shmSize`: Docker's own default, and the size where `memory` sets none. */
const SHM_BYTES = [64 * 1024 ** 2, 8 * 1024 ** 3] as const;

const UNITS: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

export function containerName(workerId: string): string {
	return `sluice-${workerId}`;
}

/** Name of the server's container of a worker with an adapter, by which all calls find it. */
export function serverName(workerId: string): string {
	return `${containerName(workerId)}-server`;
}

/**
 * Body of `POST /containers/create` and the name. The init process forwards signals, which ends programs without
 * handlers too.
 */
export function containerOptions(spec: WorkerSpec<DockerSettings>, context: ContainerContext) {
	const { image, command, entrypoint, memory, shmSize, cpus, volumes, gpus } = spec.settings;
	const placed = context.gpus ?? [];
	const assigned = placed.length > 0 ? placed : spec.gpus;
	const devices = deviceRequests(assigned, gpus);
	const memoryBytes = memory === undefined ? undefined : bytesOf(memory);
	const { gpuMemoryGb } = spec;
	const isPart = placed.length > 0 && gpuMemoryGb !== undefined;
	const env = {
		...(isPart && context.gpuSizeGb !== undefined && gpuPartEnv(gpuMemoryGb, context.gpuSizeGb)),
		...machineEnv({
			worker: spec.workerId,
			gpus: assigned.length || countOf(gpus),
			cpus,
			memoryBytes,
			place: context.place,
			volumes,
		}),
		...spec.env,
	};
	return {
		name: containerName(spec.workerId),
		Image: image,
		...(entrypoint && { Entrypoint: [...entrypoint] }),
		...(command && { Cmd: [...command] }),
		Env: Object.entries(env).map(([name, value]) => `${name}=${reachable(value, spec.url, context)}`),
		Labels: {
			[LABELS.service]: spec.serviceId,
			[LABELS.worker]: spec.workerId,
			[LABELS.endpoint]: spec.endpoint,
			...(placed.length > 0 && { [LABELS.gpus]: placed.join(",") }),
			...(isPart && { [LABELS.gpuMemory]: String(gpuMemoryGb) }),
		},
		HostConfig: {
			Init: true,
			RestartPolicy: { Name: "no" },
			LogConfig: DAEMON_LOG,
			NetworkMode: context.network,
			...(context.machine === undefined ? {} : { ExtraHosts: [`${MACHINE}:${context.machine}`] }),
			...(memoryBytes === undefined ? {} : { Memory: memoryBytes }),
			ShmSize: shmSize === undefined ? sharedBytes(memoryBytes) : bytesOf(shmSize),
			...(context.raisesLimits === false ? {} : { Ulimits: ULIMITS }),
			...(cpus === undefined ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
			...(volumes === undefined ? {} : { Binds: [...volumes] }),
			...(devices.length === 0 ? {} : { DeviceRequests: devices }),
		},
	};
}

function reachable(value: string, url: string, context: ContainerContext): string {
	if (!(value === url || value.startsWith(`${url}/`))) return value;
	return addressThere(url, context) + value.slice(url.length);
}

function addressThere(url: string, context: ContainerContext): string {
	if (context.url !== undefined) return context.url;
	if (context.network === "host" || !loopbackOf(url)) return url;
	const inside = new URL(url);
	inside.hostname = MACHINE;
	return inside.href.replace(/\/$/, "");
}

/** Assigned GPUs override the settings. A count of -1 means all. */
function deviceRequests(assigned: readonly (number | string)[], set: DockerSettings["gpus"]) {
	const wanted = assigned.length === 0 ? set : assigned;
	if (wanted === undefined || wanted === 0 || (Array.isArray(wanted) && wanted.length === 0)) return [];
	const Capabilities = [["gpu"]];
	if (typeof wanted === "object") return [{ DeviceIDs: wanted.map(String), Capabilities }];
	return [{ Count: wanted === "all" ? -1 : wanted, Capabilities }];
}

/** Returns the size of /dev/shm. Its pages count for `memory`, so half of that remains for the rest. */
function sharedBytes(memoryBytes: number | undefined): number {
	const [least, usual] = SHM_BYTES;
	return memoryBytes === undefined ? usual : Math.max(least, Math.floor(memoryBytes / 2));
}

/** Returns the number of GPUs, 0 if it is unknown. */
function countOf(gpus: DockerSettings["gpus"]): number {
	return typeof gpus === "object" ? gpus.length : typeof gpus === "number" ? gpus : 0;
}

function bytesOf(size: string | number): number {
	if (typeof size === "number") return size;
	const unit = UNITS[size.slice(-1).toLowerCase()];
	return unit === undefined ? Number(size) : Number(size.slice(0, -1)) * unit;
}
