/** Starts workers on the best host, once the host has room and the image (D44, D45). */
import type { Clock } from "../../kernel/system/clock.ts";
import { compareWaiting } from "../../kernel/core/workers/priority.ts";
import type { LocalMs } from "../../kernel/lib/time.ts";
import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import type { WorkerReason } from "../../kernel/core/workers/worker-reason.ts";
import type { Exit, Handle, PlatformState } from "../../kernel/launchers/launcher.ts";
import { containerName } from "./container-options.ts";
import type { AdapterSpec } from "./adapter/options.ts";
import { startWithAdapter } from "./adapter/start.ts";
import { isUnanswered, Unreachable } from "./daemon-calls.ts";
import { type DockerHost, withTimeout } from "./hosts/host.ts";
import type { DockerHosts } from "./hosts/hosts.ts";
import type { Waiter } from "./images/transfers.ts";
import { GpusTaken, startContainer } from "./start-container.ts";
import type { Spec, Worker } from "./worker.ts";

/**
 * Maximum wait of a start for the GPUs of hosts, ms: `nvidia-smi` takes seconds where the driver is not
 * loaded.
 */
const GPUS_MS = 10_000;

interface Deps {
	clock: Clock;
	hosts: DockerHosts;
	workers: ReadonlyMap<string, Worker>;
	onNotice(worker: Worker, state: PlatformState): void;
	/** An accepted worker has a place and so a handle. */
	onHandle(worker: Worker, handle: Handle): void;
	onRunning(worker: Worker, host: DockerHost, container: string): void;
	onEnd(worker: Worker, how: Pick<Exit, "reason">): void;
}

export class Starts {
	readonly #d: Deps;
	/** Time at which an endpoint last had a worker on a host. */
	readonly #hadPlaceAt = new Map<string, LocalMs>();

	constructor(d: Deps) {
		this.#d = d;
	}

	async start(worker: Worker, spec: Spec): Promise<Handle> {
		const { hosts } = this.#d;
		const { gpus } = await hosts.ready(spec);
		if (spec.settings.hosts === undefined) {
			const local = hosts.get(LOCAL)!;
			if (!local.isReachable) await local.recheck();
			if (!local.isReachable) throw new Unreachable(local.view().fault);
		}
		let found = this.#place(worker, spec);
		if ("reason" in found) {
			await withTimeout(this.#d.clock, gpus, GPUS_MS);
			found = this.#place(worker, spec);
		}
		while ("host" in found) {
			const { host } = found;
			const images = await missingImages(spec, host);
			if (images.length > 0) {
				worker.starting = this.#startAccepted(worker, spec, { host, images });
				return worker.handle(containerName(worker.id));
			}
			const container = await this.#run(worker, spec, host);
			if (container !== undefined) return worker.handle(container);
			found = this.#place(worker, spec);
		}
		this.#waits(worker, found.reason);
		return {};
	}

	async resume(): Promise<void> {
		for (const { spec, waitsSince } of this.#d.workers.values())
			if (spec && waitsSince !== undefined) await this.#d.hosts.ready(spec);
		this.startWaiting();
	}

	/** Records that the worker's endpoint has a worker on a host. */
	notePlace({ endpoint, place }: Worker): void {
		if (place) this.#hadPlaceAt.set(endpoint, this.#d.clock.now());
	}

	/** Starts waiting workers in the order of {@link compareWaiting}. */
	startWaiting(): void {
		const { workers } = this.#d;
		for (const worker of workers.values()) this.notePlace(worker);
		const waiting = [...workers.values()].flatMap((worker) =>
			worker.spec && worker.waitsSince !== undefined
				? {
						worker,
						spec: worker.spec,
						priority: worker.spec.priority ?? "normal",
						oldestQueuedAt: worker.waitsSince,
						hadGpuAt: this.#hadPlaceAt.get(worker.endpoint) ?? -Infinity,
					}
				: [],
		);
		for (const { worker, spec } of waiting.toSorted(compareWaiting)) {
			const found = this.#place(worker, spec);
			if ("reason" in found) {
				this.#waits(worker, found.reason);
				continue;
			}
			worker.waitsSince = undefined;
			this.#d.onHandle(worker, worker.handle(containerName(worker.id)));
			worker.starting = this.#startAccepted(worker, spec, found);
		}
	}

	#place(worker: Worker, spec: Spec): { host: DockerHost } | { reason: string } {
		const { hosts, workers } = this.#d;
		const found = hosts.place(spec, workers.values());
		if ("reason" in found) return found;
		const host = hosts.get(found.host)!;
		worker.place = { host, gpus: found.gpus, memoryGb: found.gpus.length > 0 ? spec.gpuMemoryGb : undefined };
		return { host };
	}

	#waits(worker: Worker, message: string): void {
		worker.waitsSince ??= this.#d.clock.now();
		this.#d.onNotice(worker, { state: "waiting", code: "unschedulable", message });
	}

	async #startAccepted(
		worker: Worker,
		spec: Spec,
		{ host, images }: { host: DockerHost; images?: readonly ImageFetch[] },
	): Promise<void> {
		const { signal } = worker.unwanted;
		let code: "image_pull" | "start_failed" = "image_pull";
		try {
			const onProgress = (reason: WorkerReason): void => this.#d.onNotice(worker, { state: "waiting", ...reason });
			for (const fetch of images ?? (await missingImages(spec, host))) await fetch({ signal, onProgress });
			code = "start_failed";
			const container = await this.#run(worker, spec, host);
			if (container === undefined) this.#waits(worker, "Another service has just taken the GPUs that it would get.");
			else this.#d.onNotice(worker, { state: "running" });
		} catch (error) {
			const message = code === "image_pull" ? (error as Error).message : host.sentence(error);
			const reason = { code, message, crash: !isUnanswered(error) };
			this.#d.onEnd(worker, signal.aborted ? {} : { reason });
		}
	}

	/** Starts a worker on a host. Undefined if another service has just taken its GPUs. */
	async #run(worker: Worker, spec: Spec, host: DockerHost): Promise<string | undefined> {
		const { clock, hosts, workers } = this.#d;
		const stillFits = (): Promise<boolean> => hosts.stillFits(worker, workers.values());
		try {
			const q = { ...worker.place!, stillFits };
			const container = await (isOfAdapter(spec)
				? startWithAdapter(clock, { ...q, spec, image: await adapterOf(spec, host) })
				: startContainer(clock, { ...q, spec }));
			worker.container = container;
			this.#d.onRunning(worker, host, container);
			return container;
		} catch (error) {
			if (!(error instanceof GpusTaken)) throw error;
			worker.place = undefined;
			return undefined;
		}
	}
}

/** Brings an image to a host. */
type ImageFetch = (waiter: Waiter) => Promise<void>;

/** What brings the images that the host must get first. If its daemon does not answer, the start reports it. */
async function missingImages(spec: Spec, { pulls, adapterImage }: DockerHost): Promise<ImageFetch[]> {
	const { image, adapterImage: given, pullPolicy } = spec.settings;
	const found: ImageFetch[] = [];
	if (await pulls.mustPull(image, pullPolicy).catch(() => false))
		found.push((waiter) => pulls.pull(spec.settings, waiter));
	if (!isOfAdapter(spec)) return found;
	if (given === undefined) {
		if (await adapterImage.isMissing().catch(() => false)) found.push((waiter) => adapterImage.import(waiter));
	} else if (await pulls.mustPull(given, pullPolicy).catch(() => false))
		found.push((waiter) => pulls.pull({ image: given }, waiter));
	return found;
}

function isOfAdapter(spec: Spec): spec is AdapterSpec {
	return spec.adapter !== undefined;
}

async function adapterOf({ settings }: AdapterSpec, { adapterImage }: DockerHost): Promise<string> {
	return settings.adapterImage ?? (await adapterImage.name());
}
