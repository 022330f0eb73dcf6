/**
 * What the Docker daemon is asked for when a worker is to start: pure, from the worker and its
 * place on the network (D25).
 */
import type { ContainerCreateOptions, DeviceRequest } from "dockerode";
import type { WorkerSpec } from "../launcher.ts";
import type { DockerSettings } from "./settings.ts";

/** The name by which a container finds the machine that it runs on. */
export const MACHINE = "host.docker.internal";

/** Labels by which a service finds its own containers again. */
export const LABELS = {
	service: "sluice.service",
	worker: "sluice.worker",
	endpoint: "sluice.endpoint",
} as const;

/**
 * Where the container stands: `host` or a network's name; and the address of the machine on it,
 * where the daemon does not know {@link MACHINE} by itself.
 */
export interface ContainerContext {
	network: string;
	machine?: string;
}

/**
 * The daemon keeps this much of the output, in two files; the service copies it from there as it
 * comes.
 */
const DAEMON_LOG = { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } };

/** Bytes behind a letter. */
const UNITS: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/**
 * The options of the container for a worker. An init process hands signals on, so that a program
 * without a handler ends too.
 */
export function containerOptions(
	spec: WorkerSpec<DockerSettings>,
	place: ContainerContext,
): ContainerCreateOptions {
	const { image, command, memory, cpus, volumes, gpus } = spec.settings;
	const devices = deviceRequests(spec.gpus, gpus);
	return {
		name: `sluice-${spec.workerId}`,
		Image: image,
		...(command === undefined ? {} : { Cmd: [...command] }),
		Env: Object.entries(spec.env).map(
			([name, value]) => `${name}=${reachable(value, spec.url, place)}`,
		),
		Labels: {
			[LABELS.service]: spec.serviceId,
			[LABELS.worker]: spec.workerId,
			[LABELS.endpoint]: spec.endpoint,
		},
		HostConfig: {
			Init: true,
			RestartPolicy: { Name: "no" },
			LogConfig: DAEMON_LOG,
			NetworkMode: place.network,
			...(place.machine === undefined ? {} : { ExtraHosts: [`${MACHINE}:${place.machine}`] }),
			...(memory === undefined ? {} : { Memory: bytesOf(memory) }),
			...(cpus === undefined ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
			...(volumes === undefined ? {} : { Binds: [...volumes] }),
			...(devices.length === 0 ? {} : { DeviceRequests: devices }),
		},
	};
}

/**
 * Host and port of an address, when it is one that only the machine itself has: a container with a
 * network of its own does not reach it.
 */
export function loopbackOf(url: string): { port: number } | undefined {
	const { hostname, port, protocol } = new URL(url);
	if (hostname !== "localhost" && hostname !== "[::1]" && !hostname.startsWith("127."))
		return undefined;
	return { port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/**
 * A value of the environment; what begins with the address of the service, with an address that
 * leads there from the container.
 */
function reachable(value: string, url: string, { network }: ContainerContext): string {
	if (network === "host" || !loopbackOf(url) || !(value === url || value.startsWith(`${url}/`)))
		return value;
	const there = new URL(url);
	there.hostname = MACHINE;
	return there.href.replace(/\/$/, "") + value.slice(url.length);
}

/** The GPUs that were assigned, else those of the settings. */
function deviceRequests(assigned: readonly number[], set: DockerSettings["gpus"]): DeviceRequest[] {
	const wanted = assigned.length === 0 ? set : assigned;
	if (wanted === undefined || wanted === 0 || (Array.isArray(wanted) && wanted.length === 0))
		return [];
	const which =
		wanted === "all"
			? { Count: -1 }
			: typeof wanted === "number"
				? { Count: wanted }
				: { DeviceIDs: wanted.map(String) };
	return [{ ...which, Capabilities: [["gpu"]] }];
}

/** `512m` in bytes. */
function bytesOf(size: string | number): number {
	if (typeof size === "number") return size;
	const unit = UNITS[size.slice(-1).toLowerCase()];
	return unit === undefined ? Number(size) : Number(size.slice(0, -1)) * unit;
}
