/** The hosts of the configuration and `local`: the best one for a worker, and what they show (D44). */
import { type HostConfig, type HostView, LOCAL } from "../../core/hosts.ts";
import { place, type Placement, type PlacementHost } from "../../core/workers/placement.ts";
import type { WorkerSpec } from "../launcher.ts";
import { LABELS } from "./container-options.ts";
import { DockerHost, gpusOf, type HostDeps } from "./host.ts";
import type { DockerSettings } from "./settings.ts";

type Spec = WorkerSpec<DockerSettings>;

/** A worker that has a place on a host, or is about to start there. */
export interface PlacedWorker {
	id: string;
	host: DockerHost;
	gpus: readonly string[];
}

export type DockerHosts = ReturnType<typeof dockerHosts>;

/** `serviceId`: whose containers are in `workers`. */
export function dockerHosts({ hosts: configured }: HostConfig, d: HostDeps & { serviceId: () => string | undefined }) {
	const hosts = new Map<string, DockerHost>();
	let drained: ReadonlySet<string> = new Set();
	/** Otherwise it may be open only to be searched for containers of earlier runs. */
	let usesLocal = LOCAL in configured;

	for (const [name, settings] of Object.entries(configured)) hosts.set(name, new DockerHost(name, settings, d));

	/** Returns a host, `local` too, which is opened when it is first needed. */
	function get(name: string): DockerHost | undefined {
		// Its GPUs are assigned by number unless the configuration lists the host.
		if (name === LOCAL && !hosts.has(LOCAL)) hosts.set(LOCAL, new DockerHost(LOCAL, { gpus: [] }, d));
		return hosts.get(name);
	}

	/** Returns all hosts that the settings may name, in the order of the configuration. */
	function candidates({ hosts: wanted }: DockerSettings): DockerHost[] {
		const needsLocal = wanted === undefined || (wanted !== "all" && wanted.includes(LOCAL));
		usesLocal ||= needsLocal;
		if (wanted === undefined) return [get(LOCAL)!];
		if (needsLocal) get(LOCAL);
		const names = wanted === "all" ? Object.keys(configured) : [...hosts.keys()];
		return names.map((name) => hosts.get(name)!);
	}

	/** Returns those that settings name, whether they may get workers now or not. */
	function named(settings: DockerSettings): DockerHost[] {
		const { hosts: wanted } = settings;
		return candidates(settings).filter(
			({ name, settings: { labels = [] } }) =>
				!Array.isArray(wanted) || wanted.some((each) => each === name || labels.includes(each)),
		);
	}

	function usedGpus(host: DockerHost, workers: readonly PlacedWorker[]): Map<string, string> {
		const used = new Map<string, string>();
		for (const each of host.gpuContainers)
			if (each.Labels[LABELS.service] !== d.serviceId()) for (const gpu of gpusOf(each)) used.set(gpu, "");
		for (const { id, gpus } of workers) for (const gpu of gpus) used.set(gpu, id);
		return used;
	}

	function placementHost(host: DockerHost, all: readonly PlacedWorker[]): PlacementHost {
		const { name, settings, isReachable, images, gpus } = host;
		const workers = all.filter((each) => each.host === host);
		const used = usedGpus(host, workers);
		const ms = host.unreachableMs();
		return {
			name,
			labels: settings.labels ?? [],
			state: ms !== undefined ? { unreachableMs: ms } : isReachable ? "reachable" : "connecting",
			drained: drained.has(name),
			gpus: gpus?.map((gpu) => ({ ...gpu, used: used.has(gpu.id) })) ?? {
				fault: host.gpuFault,
			},
			workers: workers.length,
			workersMax: settings.workersMax,
			images,
		};
	}

	return {
		get,
		/** Undefined, too, if `DOCKER_HOST` is invalid: a start reports that. */
		find(name: string): DockerHost | undefined {
			try {
				return get(name);
			} catch (error) {
				d.log(String(error));
				return undefined;
			}
		},
		/** Those that were opened, and all of the configuration. */
		all: () => hosts.values(),
		/** Resolves when each host that may get the worker was checked, and its GPUs read if needed. */
		async ready(spec: Spec): Promise<void> {
			await Promise.all(
				candidates(spec.settings).map(async (host) => {
					await host.checked();
					if (gpuCountOf(spec) > 0 && host.isReachable) await host.findGpus(spec.settings.image);
				}),
			);
		},
		named,
		place(spec: Spec, workers: Iterable<PlacedWorker>): Placement {
			const { hosts: wanted, gpu, placement = "pack", image } = spec.settings;
			const query = {
				hosts: Array.isArray(wanted) ? wanted : undefined,
				gpuCount: gpuCountOf(spec),
				gpu,
				placement,
				image,
			};
			const all = [...workers];
			return place(
				query,
				candidates(spec.settings).map((host) => placementHost(host, all)),
			);
		},
		views(workers: Iterable<PlacedWorker>): HostView[] {
			const all = [...workers];
			return [...hosts.values()].flatMap((host) => {
				const own = all.filter((each) => each.host === host);
				if (host.name === LOCAL && !usesLocal && own.length === 0) return [];
				const used = usedGpus(host, own);
				return viewOf(host, { own, used, isDrained: drained.has(host.name) });
			});
		},
		/** `names`: hosts that get no workers. */
		setDrained: (names: ReadonlySet<string>) => void (drained = names),
		isDrained: ({ name }: DockerHost) => drained.has(name),
		close(): void {
			for (const host of hosts.values()) host.close();
		},
	};
}

/** Returns the number of GPUs to place: without `hosts` its GPUs are assigned by number, not here. */
function gpuCountOf({ settings, gpuCount }: Spec): number {
	return settings.hosts === undefined ? 0 : gpuCount;
}

/** `used`: the worker that has each GPU, or "" for a container of another service. */
function viewOf(
	host: DockerHost,
	{ own, used, isDrained }: { own: PlacedWorker[]; used: ReadonlyMap<string, string>; isDrained: boolean },
): HostView {
	return {
		...host.view(),
		drained: isDrained,
		workersMax: host.settings.workersMax,
		gpus: (host.gpus ?? []).map((gpu) => ({
			...gpu,
			used: used.has(gpu.id),
			worker: used.get(gpu.id) || undefined,
		})),
		workers: own.map(({ id }) => id),
	};
}
