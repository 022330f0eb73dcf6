/** Machines on which a launcher places workers, and their GPUs (D44). */
import type { Schema } from "../../lib/schema.ts";
import type { GpuPart } from "./gpu-part.ts";

/** The machine of the service: the host of endpoints that name none. */
export const LOCAL = "local";

/** Values of `nvidia-smi`. */
export interface HostGpu {
	/** UUID. */
	id: string;
	model: string;
	/** In 10^9 bytes. */
	memoryGb: number;
	/** The newest that its driver runs, such as `12.4`; absent: not known. */
	cuda?: string | undefined;
}

export const HOST_STATES = ["unused", "connecting", "reachable", "unreachable"] as const;

export interface HostGpuPart extends GpuPart {
	/** Absent for the container of another service. */
	worker?: string | undefined;
}

export interface HostView {
	name: string;
	labels: readonly string[];
	address: string;
	state: (typeof HOST_STATES)[number];
	/** Ms since the epoch; absent before the first answer. */
	since?: number | undefined;
	fault?: string | undefined;
	drained: boolean;
	workersMax?: number | undefined;
	gpus: readonly (HostGpu & { parts: readonly HostGpuPart[] })[];
	/** False before they were read. */
	areGpusKnown: boolean;
	workers: readonly string[];
	images: readonly string[];
	/** Bytes, where the images are. */
	freeDisk?: number | undefined;
	version?: string | undefined;
}

export const CUDA_VERSION = {
	type: "string",
	pattern: "^\\d{1,2}\\.\\d{1,2}$",
	"x-message": "must be a version in quotes, such as '12.4'.",
} as const satisfies Schema;
