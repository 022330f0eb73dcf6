/** A worker and its container. */
import { LOCAL } from "../../core/hosts.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { Handle, WorkerSpec } from "../launcher.ts";
import { WatchedWorker } from "../watched-workers.ts";
import type { DockerHost } from "./host.ts";
import type { PlacedWorker } from "./hosts.ts";
import type { DockerSettings } from "./settings.ts";

export type Spec = WorkerSpec<DockerSettings>;

interface Place {
	host: DockerHost;
	gpus: readonly string[];
}

export class Worker extends WatchedWorker {
	/** To be started; undefined if adopted. */
	readonly spec: Spec | undefined;
	/** Whether it waits for a host; its start was accepted. */
	isWaiting = false;
	/** Where it runs or is being started. */
	place: Place | undefined;
	/** Undefined until it runs. */
	container: string | undefined;
	/** Settles when its container runs or could not be started. */
	starting: Promise<void> | undefined;
	/** Aborted by a stop: a pull for it ends. */
	readonly unwanted = new AbortController();

	constructor(id: string, { spec, place, container }: { spec?: Spec; place?: Place; container?: string }) {
		super(id);
		this.spec = spec;
		this.place = place;
		this.container = container;
	}

	/** Returns its handle; `container`: an id or a name. */
	handle(container: string): Handle {
		const { host, gpus = [] } = this.place ?? {};
		const { workerUrl } = host?.settings ?? {};
		return {
			container,
			...(host && host.name !== LOCAL && { host: host.name }),
			...(workerUrl !== undefined && { url: workerUrl }),
			...(gpus.length > 0 && { hostGpus: gpus.join(",") }),
		};
	}
}

/** Returns the workers that have a place on a host. */
export function placed(workers: Iterable<Worker>): PlacedWorker[] {
	return [...workers].flatMap(({ id, place }) => (place ? [{ id, ...place }] : []));
}

/** Returns what an unreachable host means for its workers; undefined if it is reachable. */
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
