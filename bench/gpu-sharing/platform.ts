/** What a launcher brings to `gpu-sharing.ts`: two pretended GPUs, three endpoints, and its own account of the GPUs. */
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
export const PROGRAM = fileURLToPath(new URL("worker.ts", import.meta.url));

/** MiB as `nvidia-smi` says, and what that is in GB. */
export const SIZE_MIB = 23_034;
export const SIZE_GB = 24.2;

/** What a worker has of a GPU, or of the GPUs of a node where they have no names. */
export interface Share {
	worker: string;
	gpu: string;
	amount: number;
}

export interface Platform {
	/** Settings of the endpoints but their notes. */
	endpoints: Record<string, object>;
	/** What each GPU has, in `unit`. */
	capacity: number;
	unit: "GB" | "GPUs";
	/** What `startService` gets. */
	service: { port?: number; args?: string[]; env?: Record<string, string>; file?: object };
	/** What runs now: not as the service says, but as what runs it does. */
	shares(): Promise<Share[]>;
	close(): Promise<unknown>;
}

/** Opens it for workers that write to `notes` in `folder`. */
export type Open = (q: { folder: string; notes: string }) => Promise<Platform>;

/** Three endpoints of which each worker needs a GPU. */
export function wholes(launcher: object): Record<string, object> {
	return Object.fromEntries(["one", "two", "three"].map((id) => [id, { launcher, gpusPerWorker: 1 }]));
}

/** An endpoint with parts of 14 GB, one with parts of 8 GB, one with whole GPUs. */
export function parts(launcher: object): Record<string, object> {
	return {
		large: { launcher, gpuMemoryGb: 14 },
		small: { launcher, gpuMemoryGb: 8 },
		whole: { launcher, gpusPerWorker: 1 },
	};
}
