import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import type { LocalMs } from "../../kernel/lib/time.ts";
import type { WorkerReason } from "../../kernel/core/workers/worker-reason.ts";
import type { Handle, WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { WatchedWorker } from "../../kernel/launchers/watched-workers.ts";
import { serverName } from "./container-options.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { DockerSettings } from "./settings.ts";

export type Spec = WorkerSpec<DockerSettings>;

export interface Place {
	host: DockerHost;
	gpus: readonly string[];
	/** Part of each of its GPUs in 10^9 bytes; absent: the whole GPU. */
	memoryGb?: number | undefined;
}

/** Characters of a worker's id after that of its endpoint. */
export const ID_TAIL = 13;

export class Worker extends WatchedWorker {
	/** Undefined if adopted. */
	readonly spec: Spec | undefined;
	/** Begin of the wait for a host with room; undefined: the worker has one. */
	waitsSince: LocalMs | undefined;
	place: Place | undefined;
	/** The container of its program, or of its adapter. */
	container: string | undefined;
	/** Name of the container of its server. Undefined for a worker without an adapter. */
	server: string | undefined;
	/** Aborted when its adapter has ended, while its server may still run. */
	readonly adapterOver = new AbortController();
	/**
	 * Id of the service whose mark the container must show before the launcher acts on it; undefined once the mark was
	 * seen.
	 */
	unprovenOf: string | undefined;
	starting: Promise<void> | undefined;
	/** Aborted by a stop, which also ends the worker's wait for a pull. */
	readonly unwanted = new AbortController();

	constructor(id: string, { spec, place, container }: { spec?: Spec; place?: Place; container?: string }) {
		super(id);
		this.spec = spec;
		this.place = place;
		this.container = container;
		this.server = spec?.adapter && serverName(id);
	}

	/** The container of the image that the user has chosen, which has the GPUs and the limits. */
	get userContainer(): string | undefined {
		return this.container && (this.server ?? this.container);
	}

	get endpoint(): string {
		return this.spec?.endpoint ?? this.id.slice(0, -ID_TAIL);
	}

	handle(container: string): Handle {
		const { host, gpus = [], memoryGb } = this.place ?? {};
		const { workerUrl } = host?.settings ?? {};
		return {
			container,
			...(host && host.name !== LOCAL && { host: host.name }),
			...(workerUrl !== undefined && { url: workerUrl }),
			...(gpus.length > 0 && { hostGpus: gpus.join(",") }),
			...(memoryGb !== undefined && { hostGpuMemoryGb: memoryGb }),
		};
	}
}

/** Returns why the worker counts as lost; undefined if its host is reachable. */
export function lostReason(
	host: DockerHost,
	lostAfterMs: number,
): { isLost: boolean; reason: WorkerReason } | undefined {
	const ms = host.unreachableMs();
	if (ms === undefined) return undefined;
	const [since, most] = [ms, lostAfterMs].map((each) => Math.round(each / 1000));
	const message = `Host ${host.name} is unreachable for ${since} s; after ${most} s its worker is given up.`;
	return { isLost: ms >= lostAfterMs, reason: { code: "node_failed", message } };
}
