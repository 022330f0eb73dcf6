/** Decides on which host and GPUs a new worker starts, or why on none (D44). */
import { freeGb, type GpuPart } from "../../../kernel/core/workers/gpu-part.ts";
import { type GpuNeed, needText, suits } from "../../../kernel/core/workers/gpu-need.ts";
import type { HostGpu } from "../../../kernel/core/workers/hosts.ts";

export interface PlacementQuery extends GpuPart {
	/** Names or labels; absent: any. */
	hosts?: readonly string[] | undefined;
	gpuCount: number;
	gpu?: GpuNeed | undefined;
	/** `pack`: few hosts, as full as possible. */
	placement: "pack" | "spread";
	image: string;
}

interface PlacementGpu extends HostGpu {
	parts: readonly GpuPart[];
}

export interface PlacementHost {
	name: string;
	labels: readonly string[];
	/** State of the host; `unreachableMs` is counted from its last answer. */
	state: "reachable" | "connecting" | { unreachableMs: number };
	drained: boolean;
	/** GPUs of the host, or the reason why they are not known. */
	gpus: readonly PlacementGpu[] | { fault: string | undefined };
	workers: number;
	workersMax?: number | undefined;
	images: readonly string[];
}

/** The place of a worker, or why there is none. `reason`: a sentence that names every candidate. */
export type Placement = { host: string; gpus: readonly string[] } | { reason: string };

/** Returns the best place; of equal hosts the first. */
export function place(query: PlacementQuery, all: readonly PlacementHost[]): Placement {
	const { hosts: wanted } = query;
	const hosts = all.filter(
		({ name, labels }) => !wanted || wanted.some((each) => each === name || labels.includes(each)),
	);
	if (hosts.length === 0) return { reason: noneNamed(wanted ?? [], all) };
	const found = hosts.map((host) => ({ host, gpus: fit(query, host) }));
	const fitting = found.flatMap(({ host, gpus }) => (typeof gpus === "string" ? [] : [{ host, gpus }]));
	const [best] = fitting.toSorted((a, b) => compare(query, a.host, b.host));
	if (best) return { host: best.host.name, gpus: best.gpus.map(({ id }) => id) };
	const why = found.flatMap(({ host, gpus }) => (typeof gpus === "string" ? [`${host.name}: ${gpus}`] : []));
	return { reason: `No host has room for a worker: ${why.join("; ")}.` };
}

/** A name without tag or digest means `latest`. */
export function hasImage({ images }: Pick<PlacementHost, "images">, image: string): boolean {
	const isTagged = /[:@][^/:@]*$/.test(image);
	return images.includes(isTagged ? image : `${image}:latest`);
}

function noneNamed(wanted: readonly string[], all: readonly PlacementHost[]): string {
	if (all.length === 0) return "No hosts are configured: add them to hosts in sluice.yaml.";
	const names = all.map(({ name }) => name).join(", ");
	return `No host has the name or label ${wanted.join(" or ")}; the configured hosts are ${names}.`;
}

/**
 * Returns the fitting GPUs with the least memory, for parts with the least free memory; or why the worker does not fit.
 */
function fit(query: PlacementQuery, host: PlacementHost): readonly HostGpu[] | string {
	const { gpuCount, gpu, memoryGb } = query;
	const { state, workers, workersMax = Infinity, gpus } = host;
	if (state === "connecting") return "not connected yet";
	if (typeof state === "object") return `unreachable for ${spanText(state.unreachableMs)}`;
	if (host.drained) return "drained";
	if (workers >= workersMax) return `${workers} of ${workersMax} workers run`;
	if (gpuCount === 0) return [];
	if ("fault" in gpus) return `its GPUs are not known (${gpus.fault ?? "not read yet"})`;
	if (gpus.length === 0) return "no GPUs";
	const suitable = gpus.filter((each) => suits(each, gpu) && freeGb(each.memoryGb, []) >= (memoryGb ?? 0));
	const kind = needText(gpu, memoryGb);
	if (suitable.length < gpuCount && kind !== "")
		return `${suitable.length} of ${gpus.length} GPUs ${suitable.length === 1 ? "is" : "are"}${kind}`;
	const free = suitable.filter((each) => hasRoom(memoryGb, each));
	if (free.length < gpuCount) {
		const needed = gpuCount > 1 ? `, ${gpuCount} needed` : "";
		const freeText = memoryGb === undefined ? "free" : `with ${memoryGb} GB free`;
		return `${free.length} of ${suitable.length} GPUs${needText(gpu)} ${freeText}${needed}`;
	}
	return free.toSorted((a, b) => sizeFor(memoryGb, a) - sizeFor(memoryGb, b)).slice(0, gpuCount);
}

export function hasRoom(memoryGb: number | undefined, gpu: PlacementGpu): boolean {
	return sizeFor(memoryGb, gpu) > 0;
}

/** Returns the memory of a GPU in 10^9 bytes: of the whole GPU, or the free memory for a part; 0 if it is taken. */
function sizeFor(memoryGb: number | undefined, gpu: PlacementGpu): number {
	if (memoryGb === undefined) return gpu.parts.length === 0 ? gpu.memoryGb : 0;
	const free = freeGb(gpu.memoryGb, gpu.parts);
	return free >= memoryGb ? free : 0;
}

/**
 * Compares two hosts: negative if `a` is better. Packing prefers a host with the image, then the fullest; spreading the
 * emptiest, then one with the image.
 */
function compare(query: PlacementQuery, a: PlacementHost, b: PlacementHost): number {
	const image = Number(hasImage(b, query.image)) - Number(hasImage(a, query.image));
	const load = loadOf(query, a) - loadOf(query, b);
	return query.placement === "pack" ? image || -load : load || image;
}

/**
 * Returns the load of a host: its workers, or the GPUs in use for a worker that needs GPUs, or their memory in use for
 * parts.
 */
function loadOf({ gpuCount, memoryGb }: PlacementQuery, { gpus, workers }: PlacementHost): number {
	if (gpuCount === 0 || "fault" in gpus) return workers;
	if (memoryGb === undefined) return -gpus.filter(({ parts }) => parts.length === 0).length;
	return -gpus.reduce((sum, gpu) => sum + freeGb(gpu.memoryGb, gpu.parts), 0);
}

/** Returns a rounded duration, so that the text does not change every second. */
function spanText(ms: number): string {
	const seconds = Math.floor(ms / 10_000) * 10;
	if (seconds === 0) return "less than 10 s";
	if (seconds < 120) return `${seconds} s`;
	const minutes = Math.floor(ms / 60_000);
	return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}
