/** A worker as the launcher watches it. */
import { LOCAL } from "../../core/hosts.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { Handle, WorkerSpec } from "../launcher.ts";
import type { DockerHost } from "./host.ts";
import type { DockerSettings } from "./settings.ts";

export type Spec = WorkerSpec<DockerSettings>;

/** A worker from its start or adoption until its exit is reported. */
export interface Worker {
	readonly id: string;
	/** Whether it waits for a host; its start was accepted. */
	isWaiting?: boolean;
	/** Where it runs or is being started. */
	place?: { host: DockerHost; gpus: readonly string[] };
	/** Absent until it runs. */
	container?: string;
	/** To be started; absent if adopted. */
	readonly spec?: Spec;
	/** Settles when its container runs or could not be started. */
	starting?: Promise<void>;
	graceLeftMs: number;
	/** Shared by concurrent stops. */
	ending: Promise<void> | undefined;
	/** Aborted when the container has ended. */
	readonly over: AbortController;
	/** Aborted when it is no longer watched. */
	readonly left: AbortController;
	/** Aborted by a stop: a pull for it ends. */
	readonly unwanted: AbortController;
	/** Resolves when the exit was reported. */
	readonly reported: PromiseWithResolvers<void>;
}

export function newWorker(id: string, rest: Pick<Worker, "spec" | "place" | "container">): Worker {
	return {
		id,
		...rest,
		graceLeftMs: Infinity,
		ending: undefined,
		over: new AbortController(),
		left: new AbortController(),
		unwanted: new AbortController(),
		reported: Promise.withResolvers(),
	};
}

/** `container`: its id or name. */
export function handleOf({ place }: Worker, container: string): Handle {
	const { host, gpus = [] } = place ?? {};
	const { workerUrl } = host?.settings ?? {};
	return {
		container,
		...(host && host.name !== LOCAL && { host: host.name }),
		...(workerUrl !== undefined && { url: workerUrl }),
		...(gpus.length > 0 && { hostGpus: gpus.join(",") }),
	};
}

/** What an unreachable host means for its workers; undefined if it is reachable. */
export function lostReason(
	{ name, unreachableMs }: DockerHost,
	lostAfterMs: number,
): { isLost: boolean; reason: WorkerReason } | undefined {
	const ms = unreachableMs();
	if (ms === undefined) return undefined;
	const [since, most] = [ms, lostAfterMs].map((each) => Math.round(each / 1000));
	const message = `Host ${name} is unreachable for ${since} s; after ${most} s its worker is given up.`;
	return { isLost: ms >= lostAfterMs, reason: { code: "node_failed", message } };
}
