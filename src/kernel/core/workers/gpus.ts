/** GPUs that workers are assigned to, and who has them (D27, D44). */
import type { Histogram } from "../../lib/histogram.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { GpuPart } from "./gpu-part.ts";
import type { GpuUsage } from "./worker-usage.ts";

/** A GPU of this machine, or a MIG device of one. */
export interface MachineGpu extends GpuUsage {
	uuid?: string | undefined;
	/** The newest CUDA version that its driver runs. */
	cuda?: string | undefined;
	/** What programs need to find it, where that is not its number. */
	address?: string | undefined;
}

/** `other`: a container of another service. `starting` includes loading a model. */
export const GPU_HOLDER_STATES = ["starting", "idle", "busy", "stopping", "other"] as const;

/** What a worker does with its GPU; `idle` also while it is being stopped. */
export const GPU_USES = ["busy", "idle", "starting"] as const;
export type GpuUse = (typeof GPU_USES)[number];

/** Since the start of this server, of an endpoint. */
export interface GpuTotals {
	/** GPUs times ms. */
	ms: Record<GpuUse, number>;
	/** Workers stopped to make room for another endpoint, by what they did at the decision. */
	madeRoom: Record<"idle" | "busy", number>;
	/** Times from the decision to make room for a worker of this endpoint to its first call, or until it was woken. */
	swaps: Histogram;
}

export interface GpuHolderView extends GpuPart {
	state: (typeof GPU_HOLDER_STATES)[number];
	worker?: string | undefined;
	endpoint?: string | undefined;
	/** Begin of the state; absent for `stopping` and `other`. */
	since?: EpochMs | undefined;
	/** What its processes use of the GPU, in 10^9 bytes, where that is known. */
	usedGb?: number | undefined;
}

export interface GpuView {
	host: string;
	/** Number on this machine, or UUID. */
	id: string;
	/** Absent, as is the rest, where `nvidia-smi` does not say it; of a GPU of this machine, whose id is a number. */
	uuid?: string | undefined;
	model?: string | undefined;
	/** In 10^9 bytes. */
	memoryGb?: number | undefined;
	cuda?: string | undefined;
	memoryUsedGb?: number | undefined;
	/** Percent of the time in which it computed. */
	busyPercent?: number | undefined;
	/** What further parts may have, in 10^9 bytes; absent where its memory is not known. */
	freeGb?: number | undefined;
	/** One has the whole GPU, or several have parts of it. */
	holders: readonly GpuHolderView[];
}
