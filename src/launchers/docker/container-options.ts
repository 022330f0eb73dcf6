/** A worker's container in terms of the Docker Engine API (D25). Pure. */
import type { WorkerSpec } from "../launcher.ts";
import { loopbackOf } from "../loopback.ts";
import type { DockerSettings } from "./settings.ts";

/** The machine's host name inside a container. */
export const MACHINE = "host.docker.internal";

export const LABELS = {
	service: "sluice.service",
	worker: "sluice.worker",
	endpoint: "sluice.endpoint",
	/** Ids of the GPUs that it was given on a host, comma separated. */
	gpus: "sluice.gpus",
} as const;

/** Body of `POST /containers/create`, and the name. */
export interface ContainerOptions {
	name: string;
	Image: string;
	Cmd?: string[];
	Env: string[];
	Labels: Record<string, string>;
	HostConfig: {
		Init: true;
		RestartPolicy: { Name: "no" };
		LogConfig: typeof DAEMON_LOG;
		NetworkMode: string;
		ExtraHosts?: string[];
		Memory?: number;
		NanoCpus?: number;
		Binds?: string[];
		DeviceRequests?: DeviceRequest[];
	};
}

interface DeviceRequest {
	/** -1: all. */
	Count?: number;
	DeviceIDs?: string[];
	Capabilities: string[][];
}

/** Where a container runs. */
export interface ContainerContext {
	/** `host` or a name. */
	network: string;
	/** Address for {@link MACHINE} if the daemon has none. */
	machine?: string;
	/** Address of the service there, in place of the worker's. */
	url?: string | undefined;
	/** Ids of its GPUs on that host. */
	gpus?: readonly string[] | undefined;
}

/** Kept by the daemon in two files; the service copies it while it grows. */
const DAEMON_LOG = { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } };

const UNITS: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

export function containerName(workerId: string): string {
	return `sluice-${workerId}`;
}

/** The init process forwards signals, so that programs without handlers end too. */
export function containerOptions(spec: WorkerSpec<DockerSettings>, context: ContainerContext): ContainerOptions {
	const { image, command, memory, cpus, volumes, gpus } = spec.settings;
	const placed = context.gpus ?? [];
	const devices = deviceRequests(placed.length > 0 ? placed : spec.gpus, gpus);
	return {
		name: containerName(spec.workerId),
		Image: image,
		...(command === undefined ? {} : { Cmd: [...command] }),
		Env: Object.entries(spec.env).map(([name, value]) => `${name}=${reachable(value, spec.url, context)}`),
		Labels: {
			[LABELS.service]: spec.serviceId,
			[LABELS.worker]: spec.workerId,
			[LABELS.endpoint]: spec.endpoint,
			...(placed.length > 0 && { [LABELS.gpus]: placed.join(",") }),
		},
		HostConfig: {
			Init: true,
			RestartPolicy: { Name: "no" },
			LogConfig: DAEMON_LOG,
			NetworkMode: context.network,
			...(context.machine === undefined ? {} : { ExtraHosts: [`${MACHINE}:${context.machine}`] }),
			...(memory === undefined ? {} : { Memory: bytesOf(memory) }),
			...(cpus === undefined ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
			...(volumes === undefined ? {} : { Binds: [...volumes] }),
			...(devices.length === 0 ? {} : { DeviceRequests: devices }),
		},
	};
}

/** Rewrites service addresses to be reachable from the container. */
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

/** Assigned GPUs override the settings. */
function deviceRequests(assigned: readonly (number | string)[], set: DockerSettings["gpus"]): DeviceRequest[] {
	const wanted = assigned.length === 0 ? set : assigned;
	if (wanted === undefined || wanted === 0 || (Array.isArray(wanted) && wanted.length === 0)) return [];
	const which =
		wanted === "all"
			? { Count: -1 }
			: typeof wanted === "number"
				? { Count: wanted }
				: { DeviceIDs: wanted.map(String) };
	return [{ ...which, Capabilities: [["gpu"]] }];
}

function bytesOf(size: string | number): number {
	if (typeof size === "number") return size;
	const unit = UNITS[size.slice(-1).toLowerCase()];
	return unit === undefined ? Number(size) : Number(size.slice(0, -1)) * unit;
}
