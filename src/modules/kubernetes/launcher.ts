import type { LocalMs } from "../../kernel/lib/time.ts";
import type { LauncherDependencies } from "../../kernel/launchers/definition.ts";
import {
	type Handle,
	type Launcher,
	PlatformUnavailable,
	type RoomQuery,
	type StraySearch,
	type WorkerSpec,
} from "../../kernel/launchers/launcher.ts";
import { loopbackOf } from "../../kernel/launchers/loopback.ts";
import { WatchedWorkers } from "../../kernel/launchers/watched-workers.ts";
import { isUnanswered, Refusal, sentenceOf } from "./api/client.ts";
import { connectionOf } from "./api/credentials.ts";
import { type Cluster, openCluster, type Place, type PodEvent, type PodName } from "./cluster.ts";
import { podNames, shortHash } from "./objects/names.ts";
import { podOf, secretsOf, usesHostNetwork } from "./objects/objects.ts";
import { endpointOf, type Pod, serviceOf, workerOf } from "./pods/pod-status.ts";
import { PodWorker } from "./pods/pod-worker.ts";
import { roomInPool } from "../../kernel/launchers/room.ts";
import { GPU_RESOURCE, IMAGE_PULL_TRIES, type KubernetesSettings } from "./settings.ts";
import { Strays } from "./strays.ts";
import type { Env } from "../../kernel/lib/env.ts";

/** Timeouts of the first Pod list before a start and before an adoption, ms. */
const START_MS = 10_000;
const ADOPT_MS = 5000;

const EXPLAIN_MS = 5000;

const CHECK_MS = 250;

type Spec = WorkerSpec<KubernetesSettings>;

/**
 * The `kubernetes` launcher (D25, D34), one bare Pod per worker. A handle is the {@link Place} of the Pod with its
 * name, its uid, and the tries of its images.
 */
export class KubernetesLauncher extends WatchedWorkers<PodWorker, Spec> implements Launcher {
	readonly name = "kubernetes";
	readonly #env: Env;
	readonly #clusters = new Map<string, Cluster>();
	readonly #strays: Strays;
	/** Pods that are being created or wait for their Secrets. */
	readonly #creating = new Set<string>();
	#isExplaining = false;

	constructor(d: LauncherDependencies) {
		super(d);
		this.#env = d.serviceEnv;
		const isUnknown = (pod: Pod): boolean => this.owns(endpointOf(pod) ?? "") && !this.workers.has(workerOf(pod) ?? "");
		this.#strays = new Strays({ ...d, closed: this.closed.signal, isUnknown });
	}

	protected async begin(spec: Spec): Promise<Handle> {
		if (loopbackOf(spec.url) && !usesHostNetwork(spec.settings))
			throw new Error(
				`a Pod does not reach the service at ${spec.url}: set publicUrl to its address for Pods, ` +
					"such as http://sluice.NAMESPACE.svc:8080",
			);
		const { workerId: id, endpoint, settings } = spec;
		this.owned.set(endpoint, settings);
		const { context, namespace, imagePullTries: tries = IMAGE_PULL_TRIES } = settings;
		const service = shortHash(spec.serviceId);
		const cluster = await this.#clusterAt({ context, namespace, service });
		await cluster.watch.ready(START_MS);
		const adapterImage = spec.adapter && (await adapterImageOf(settings, cluster));
		const worker = this.add(this.#worker({ id, endpoint, cluster, tries }));
		let pod: PodName | undefined;
		try {
			pod = await this.#createPod(spec, cluster, adapterImage);
			for (const secret of secretsOf(spec, pod)) await cluster.createSecret(secret);
			if (!this.isWatched(worker)) throw new Error("another server starts its workers now");
			worker.begin(pod);
			const { name, uid } = pod;
			return {
				...(context !== undefined && { context }),
				namespace: cluster.namespace,
				service,
				pod: name,
				uid,
				tries,
			};
		} catch (error) {
			this.forget(worker);
			if (pod) await cluster.remove(pod, 0).catch(() => {});
			// Without an answer the Pod may exist, now or later. The watch shows it.
			this.#strays.sweep(cluster);
			throw error;
		} finally {
			if (pod) this.#creating.delete(pod.name);
		}
	}

	async adopt(workerId: string, handle: Handle, serviceId: string): Promise<boolean> {
		const { namespace, service, pod: name, uid, context, tries } = handle;
		if (service !== shortHash(serviceId)) return false;
		if (this.workers.has(workerId)) return this.workers.get(workerId)!.pod?.uid === uid;
		if (typeof name !== "string" || typeof uid !== "string") return false;
		try {
			const cluster = await this.#clusterAt({
				context: context === undefined ? undefined : String(context),
				namespace: String(namespace),
				service,
			});
			const pod = await this.#find(cluster, { name, uid });
			if (pod === undefined) return false;
			if (pod !== "unknown" && (workerOf(pod) !== workerId || serviceOf(pod) !== service)) return false;
			const endpoint = pod === "unknown" ? undefined : endpointOf(pod);
			const worker = this.add(
				this.#worker({ id: workerId, endpoint, cluster, tries: Number(tries ?? IMAGE_PULL_TRIES) }),
			);
			worker.begin({ name, uid });
			return true;
		} catch (error) {
			this.log(`worker ${workerId} was not adopted: ${this.sentence(error)}`);
			return false;
		}
	}

	async list(): Promise<string[]> {
		return [...this.workers.values()].filter(({ runs }) => runs).map(({ id }) => id);
	}

	/**
	 * Returns the workers that could make room. None for a Pod that waits for something else, such as memory or a volume.
	 */
	roomFor(q: RoomQuery): string[] {
		const { code, message, settings } = q.waiting;
		const { gpuResource: lacks = GPU_RESOURCE } = settings as KubernetesSettings;
		if (code !== "unschedulable" || !message.includes(`Insufficient ${lacks}`)) return [];
		return roomInPool(q, (settings) => {
			const { context, gpuResource = GPU_RESOURCE, gpu, podTemplate } = settings as KubernetesSettings;
			const { nodeSelector, affinity } = (podTemplate?.["spec"] ?? {}) as Record<string, unknown>;
			return [context, gpuResource, gpu, nodeSelector, affinity];
		});
	}

	async removeStrays({ serviceId, endpoints, scales = () => true }: StraySearch): Promise<number> {
		this.scales = scales;
		const service = shortHash(serviceId);
		const places = new Map<string, Place>();
		for (const { id, settings } of endpoints) {
			this.owned.set(id, settings as KubernetesSettings);
			const { context, namespace } = settings as KubernetesSettings;
			places.set(JSON.stringify([context, namespace]), { context, namespace, service });
		}
		let removed = 0;
		for (const place of places.values()) {
			try {
				const cluster = await this.#clusterAt(place);
				await cluster.watch.ready(ADOPT_MS);
				removed += this.#strays.sweep(cluster);
			} catch (error) {
				this.log(`Pods left behind are deleted later: ${this.sentence(error)}`);
			}
		}
		return removed;
	}

	release(endpoint: string): void {
		this.owned.delete(endpoint);
		for (const worker of this.workers.values()) if (worker.endpoint === endpoint) this.forget(worker);
	}

	setBusy(workerId: string, isBusy: boolean): void {
		this.workers.get(workerId)?.setBusy(isBusy);
	}

	override async close(): Promise<void> {
		for (const worker of this.workers.values()) this.forget(worker);
		await super.close();
		for (const cluster of this.#clusters.values()) cluster.close();
	}

	/** Each stop sends its grace, because the API server keeps the shortest one. */
	protected override join(worker: PodWorker, graceMs: number): Promise<void> {
		worker.ending = undefined;
		return super.join(worker, graceMs);
	}

	protected end(worker: PodWorker, graceMs: number): Promise<void> {
		return worker.stop(graceMs);
	}

	protected override isUnanswered(error: unknown): boolean {
		return error instanceof PlatformUnavailable || isUnanswered(error);
	}

	protected override sentence(error: unknown): string {
		return sentenceOf(error, [...this.#clusters.values()][0]?.client.server ?? "");
	}

	async #clusterAt(place: Place): Promise<Cluster> {
		const key = JSON.stringify([place.context, place.namespace, place.service]);
		if (this.#clusters.has(key)) return this.#clusters.get(key)!;
		const connection = await connectionOf(this.#env, { context: place.context, clock: this.clock });
		// Another call may have opened it meanwhile.
		const present = this.#clusters.get(key);
		if (present) return present;
		if (this.isClosed) throw new Error("the service stops");
		let isFailing = false;
		const cluster: Cluster = openCluster(place, {
			connection,
			clock: this.clock,
			onPod: (pod, isPresent) => this.#seen(cluster, pod, isPresent),
			onSynced: (began) => {
				isFailing = false;
				this.#synced(cluster, began);
			},
			onError: (error) => {
				if (!isFailing) this.log(`Pods are not watched: ${sentenceOf(error, cluster.client.server)}`);
				isFailing = true;
			},
		});
		this.#clusters.set(key, cluster);
		return cluster;
	}

	#seen(cluster: Cluster, pod: Pod, isPresent: boolean): void {
		const worker = this.workers.get(workerOf(pod) ?? "");
		if (worker) {
			worker.seen(pod, isPresent);
			if (worker.isPrepared) void this.#explain();
		} else if (isPresent) void this.#strays.check(cluster, pod);
	}

	#synced(cluster: Cluster, began: LocalMs): void {
		for (const worker of this.workers.values()) if (worker.cluster === cluster) worker.synced(began);
		this.#strays.sweep(cluster);
	}

	#worker(q: { id: string; endpoint: string | undefined; cluster: Cluster; tries: number }): PodWorker {
		return new PodWorker({
			...{ ...q, clock: this.clock, logDir: this.logDir, log: this.log },
			onState: (worker, state) => this.notice(worker, state),
			onExit: (worker, end) => void this.report(worker, end),
		});
	}

	/** Takes the first free name of the endpoint and puts it into `#creating`. */
	async #createPod(spec: Spec, cluster: Cluster, adapterImage: string | undefined): Promise<PodName> {
		const names = podNames(spec);
		const refused = new Set<string>();
		const giveUpAt = this.clock.now() + START_MS;
		for (;;) {
			const used = new Set([...cluster.watch.pods.values()].map(({ metadata }) => metadata.name));
			for (const { pod } of this.workers.values()) used.add(pod?.name ?? "");
			const name = names.find((each) => ![used, this.#creating, refused].some((set) => set.has(each)));
			if (name === undefined) {
				if (this.isClosed || this.clock.now() >= giveUpAt)
					throw new Error(
						`the ${names.length} Pods of workersMax and release.maxSurge exist; some are not removed yet`,
					);
				await this.clock.sleep(CHECK_MS, this.closed.signal);
				refused.clear();
				continue;
			}
			this.#creating.add(name);
			try {
				return await cluster.create(podOf(spec, name, adapterImage));
			} catch (error) {
				this.#creating.delete(name);
				if (!(error instanceof Refusal) || error.reason !== "AlreadyExists") throw error;
				refused.add(name);
			}
		}
	}

	async #explain(): Promise<void> {
		if (this.#isExplaining) return;
		this.#isExplaining = true;
		for (;;) {
			await this.clock.sleep(EXPLAIN_MS, this.closed.signal);
			const waiting = [...this.workers.values()].filter(({ isPrepared }) => isPrepared);
			if (this.isClosed || waiting.length === 0) break;
			for (const cluster of new Set(waiting.map((worker) => worker.cluster))) {
				const events = await cluster.events().catch(() => new Map<string, PodEvent>());
				for (const worker of waiting) worker.explain(events);
			}
		}
		this.#isExplaining = false;
	}

	async #find({ watch, find }: Cluster, pod: PodName): Promise<Pod | undefined | "unknown"> {
		// No answer is no exit. The next list shows whether the Pod runs.
		const isSynced = await watch.ready(ADOPT_MS).then(
			() => true,
			() => false,
		);
		const seen = watch.pods.get(pod.uid);
		if (seen || !isSynced) return seen ?? "unknown";
		return await find(pod, ADOPT_MS).catch(() => "unknown" as const);
	}
}

async function adapterImageOf({ adapterImage }: KubernetesSettings, cluster: Cluster): Promise<string> {
	const image = adapterImage ?? (await cluster.ownImage());
	if (image !== undefined) return image;
	throw new Error(
		"the image of the adapter is unknown, since the service does not run in a Pod that it may read: set " +
			"launcher.adapterImage to an image with sluice-http that the nodes can pull, such as Sluice's own",
	);
}
