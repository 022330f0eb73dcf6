/** The hosts of the configuration and `local` (D44). */
import { type HostGpuPart, type HostView, LOCAL } from "../../../kernel/core/workers/hosts.ts";
import { firstThatSuffice } from "../../../kernel/core/workers/fewest.ts";
import { hasRoom, place, type Placement, type PlacementHost } from "./placement.ts";
import { LABELS } from "../container-options.ts";
import { DockerHost, gpusOf, type HostDeps } from "./host.ts";
import type { DockerSettings } from "../settings.ts";
import type { HostConfig } from "./host-schema.ts";
import type { Spec, Worker } from "../worker.ts";

export type DockerHosts = ReturnType<typeof dockerHosts>;

export function dockerHosts({ hosts: configured }: HostConfig, d: HostDeps & { serviceId: () => string | undefined }) {
	const hosts = new Map<string, DockerHost>();
	let drained: ReadonlySet<string> = new Set();
	/** The local host may be open only for the search for containers of earlier runs. */
	let usesLocal = LOCAL in configured;

	for (const [name, settings] of Object.entries(configured)) hosts.set(name, new DockerHost(name, settings, d));

	function get(name: string): DockerHost | undefined {
		// GPUs of the local host are assigned by number unless the configuration lists it.
		if (name === LOCAL && !hosts.has(LOCAL)) hosts.set(LOCAL, new DockerHost(LOCAL, { gpus: [] }, d));
		return hosts.get(name);
	}

	/** All hosts that the settings may name, in the order of the configuration. */
	function candidates({ hosts: wanted }: DockerSettings): DockerHost[] {
		const needsLocal = wanted === undefined || (wanted !== "all" && wanted.includes(LOCAL));
		usesLocal ||= needsLocal;
		if (wanted === undefined) return [get(LOCAL)!];
		if (needsLocal) get(LOCAL);
		const names = wanted === "all" ? Object.keys(configured) : [...hosts.keys()];
		return names.map((name) => hosts.get(name)!);
	}

	function named(settings: DockerSettings): DockerHost[] {
		const { hosts: wanted } = settings;
		return candidates(settings).filter(
			({ name, settings: { labels = [] } }) =>
				!Array.isArray(wanted) || wanted.some((each) => each === name || labels.includes(each)),
		);
	}

	const useOf = (host: DockerHost, all: readonly Worker[]): Use => useOfHost(host, all, d.serviceId());

	return {
		get,
		/** Also undefined if `DOCKER_HOST` is invalid. A start reports that. */
		find(name: string): DockerHost | undefined {
			try {
				return get(name);
			} catch (error) {
				d.log(String(error));
				return undefined;
			}
		},
		/** Returns all hosts of the configuration, and `local` once it was opened. */
		all: () => hosts.values(),
		/** Resolves when all hosts were checked. `gpus` resolves when their GPUs were read, which may take long. */
		async ready(spec: Spec): Promise<{ gpus: Promise<unknown> }> {
			const all = candidates(spec.settings);
			await Promise.all(all.map((host) => host.checked()));
			const needing = gpuCountOf(spec) > 0 ? all.filter(({ isReachable }) => isReachable) : [];
			return { gpus: Promise.all(needing.map((host) => host.findGpus(spec.settings.image))) };
		},
		named,
		place(spec: Spec, workers: Iterable<Worker>): Placement {
			const { hosts: wanted, gpu, placement = "pack", image } = spec.settings;
			const names = Array.isArray(wanted) ? wanted : undefined;
			const all = [...workers];
			return place(
				{ hosts: names, gpuCount: gpuCountOf(spec), memoryGb: spec.gpuMemoryGb, gpu, placement, image },
				candidates(spec.settings).map((host) => placementHost(host, useOf(host, all), drained.has(host.name))),
			);
		},
		/**
		 * Returns whether the worker's GPUs still have room for it: another service may have placed a worker there at the
		 * same moment. The answer is exact once the worker's container exists, since of two containers one is listed by the
		 * other's service.
		 */
		async stillFits(worker: Worker, workers: Iterable<Worker>): Promise<boolean> {
			const { host, gpus, memoryGb } = worker.place!;
			await host.readGpuContainers();
			const others = [...workers].filter((other) => other !== worker);
			return useOf(host, others).gpus.every((gpu) => !gpus.includes(gpu.id) || hasRoom(memoryGb, gpu));
		},
		/** Returns the workers that must stop so that the new one has a place; empty if stopping some does not help. */
		room(spec: Spec, q: { stoppable: readonly Worker[]; staying: readonly Worker[] }): Worker[] {
			return firstThatSuffice(q.stoppable, (removed) => {
				const rest = q.stoppable.filter((worker) => !removed.includes(worker));
				return "host" in this.place(spec, [...q.staying, ...rest]);
			});
		},
		views(all: Iterable<Worker>): HostView[] {
			const known = [...all];
			return [...hosts.values()].flatMap((host) => {
				const { workers, gpus } = useOf(host, known);
				if (host.name === LOCAL && !usesLocal && workers.length === 0) return [];
				return {
					...host.view(),
					drained: drained.has(host.name),
					workersMax: host.settings.workersMax,
					gpus,
					areGpusKnown: host.gpus !== undefined,
					workers: workers.map(({ id }) => id),
				};
			});
		},
		setDrained: (names: ReadonlySet<string>) => void (drained = names),
		isDrained: ({ name }: DockerHost) => drained.has(name),
		close(): void {
			for (const host of hosts.values()) host.close();
		},
	};
}

/** The workers on a host, and for each of its GPUs which worker has which part. */
interface Use {
	workers: Worker[];
	gpus: HostView["gpus"];
}

function useOfHost(host: DockerHost, all: readonly Worker[], serviceId: string | undefined): Use {
	const workers = all.filter(({ place }) => place?.host === host);
	const others = host.gpuContainers.filter(
		({ Id, Labels }) => Labels[LABELS.service] !== serviceId || host.removals.isRefused(Id),
	);
	const held = [
		...others.map(gpusOf),
		...workers.map(({ id, place }) => ({ worker: id, gpus: place!.gpus, memoryGb: place!.memoryGb })),
	];
	const partsOf = (gpu: string): HostGpuPart[] =>
		held.flatMap(({ gpus, ...part }) => (gpus.includes(gpu) ? [part] : []));
	return { workers, gpus: (host.gpus ?? []).map((gpu) => ({ ...gpu, parts: partsOf(gpu.id) })) };
}

function placementHost(host: DockerHost, { workers, gpus }: Use, drained: boolean): PlacementHost {
	const { name, settings, isReachable, images } = host;
	const ms = host.unreachableMs();
	return {
		name,
		labels: settings.labels ?? [],
		state: ms !== undefined ? { unreachableMs: ms } : isReachable ? "reachable" : "connecting",
		drained,
		gpus: host.gpus === undefined ? { fault: host.gpuFault } : gpus,
		workers: workers.length,
		workersMax: settings.workersMax,
		images,
	};
}

/** GPUs of settings without `hosts` are assigned by number elsewhere. */
function gpuCountOf({ settings, gpuCount }: Spec): number {
	return settings.hosts === undefined ? 0 : gpuCount;
}
