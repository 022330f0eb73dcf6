import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import type { LocalMs } from "../../kernel/lib/time.ts";
import type { WorkerReason } from "../../kernel/core/workers/worker-reason.ts";
import type { Handle, WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { WatchedWorker } from "../../kernel/launchers/watched-workers.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { DockerSettings } from "./settings.ts";

export type Spec = WorkerSpec<DockerSettings>;

export interface Place {
	host: DockerHost;
	gpus: readonly string[];
	/** Its part of each of these in 10^9 bytes; absent: all of it. */
	memoryGb?: number | undefined;
}

/** Characters of a worker's id behind that of its endpoint. */
const ID_TAIL = 13;

export class Worker extends WatchedWorker {
	/** Undefined if adopted. */
	readonly spec: Spec | undefined;
	/** Begin of its wait for a place; undefined: it has one. */
	waitsSince: LocalMs | undefined;
	place: Place | undefined;
	container: string | undefined;
	/** The service whose mark its container must show before anything is done to it. Undefined: it was seen. */
	unprovenOf: string | undefined;
	starting: Promise<void> | undefined;
	/** Aborted by a stop, which ends its pull. */
	readonly unwanted = new AbortController();

	constructor(id: string, { spec, place, container }: { spec?: Spec; place?: Place; container?: string }) {
		super(id);
		this.spec = spec;
		this.place = place;
		this.container = container;
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

/** Undefined if the host is reachable. */
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
