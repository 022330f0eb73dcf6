/**
 * Runs workers as Pods, one bare Pod each, found by their labels. They outlive the service, and
 * another server can take them over (D25, D34).
 */
import type { LocalMs } from "../../core/time.ts";
import type { LauncherDependencies } from "../definition.ts";
import type { Exit, Handle, Launcher, Notice, WorkerSpec } from "../launcher.ts";
import { logPath, pruneLogs, tail } from "../log-files.ts";
import { loopbackOf } from "../loopback.ts";
import { sentenceOf, statusOf } from "./client.ts";
import { openCluster } from "./cluster.ts";
import type { Cluster, Place, PodEvent, PodName } from "./cluster.ts";
import { podName, shortHash } from "./names.ts";
import { podOf, secretOf, usesHostNetwork } from "./objects.ts";
import { endpointOf, hasEnded, workerOf } from "./pod-status.ts";
import type { Pod } from "./pod-status.ts";
import { podWorker } from "./pod-worker.ts";
import type { PodWorker } from "./pod-worker.ts";
import { IMAGE_PULL_TRIES } from "./settings.ts";
import type { KubernetesSettings } from "./settings.ts";

/** Patience with the first list of Pods: for a start, and for an adoption, ms. */
const START_MS = 10_000;
const ADOPT_MS = 5000;

/** Between two reads of events while nodes prepare Pods, ms. */
const EXPLAIN_MS = 5000;

/** Of Pods that nothing recorded, s. */
const STRAY_GRACE_SECONDS = 1;

/**
 * The `kubernetes` launcher (D25). A handle is the {@link Place} of the Pod with its name, its uid,
 * and the tries of its image. Output stays in `logDir`; Pods of ended workers are deleted.
 */
export function kubernetesLauncher({
	clock,
	logDir,
	serviceEnv,
	log,
}: LauncherDependencies): Launcher {
	const workers = new Map<string, PodWorker>();
	const clusters = new Map<string, Cluster>();
	/** Ids of the endpoints whose strays are removed: this server starts their workers. */
	const owned = new Set<string>();
	const exitListeners: ((exit: Exit) => void)[] = [];
	const noticeListeners: ((notice: Notice) => void)[] = [];
	const left = new AbortController();
	let explaining = false;
	let closed = false;

	/** Opened when first needed. Throws an Error without credentials. */
	function clusterAt(place: Place): Cluster {
		const key = JSON.stringify([place.context, place.namespace, place.service]);
		const present = clusters.get(key);
		if (present) return present;
		let failing = false;
		const cluster: Cluster = openCluster(place, {
			env: serviceEnv,
			clock,
			onPod: (pod, present) => seen(cluster, pod, present),
			onSynced(began) {
				failing = false;
				synced(cluster, began);
			},
			onError(error) {
				if (!failing) log(`Pods are not watched: ${sentenceOf(error, cluster.client.server)}`);
				failing = true;
			},
		});
		clusters.set(key, cluster);
		return cluster;
	}

	function seen(cluster: Cluster, pod: Pod, present: boolean): void {
		const worker = workers.get(workerOf(pod) ?? "");
		if (worker) {
			worker.seen(pod, present);
			if (worker.isPrepared()) void explain();
		} else if (present && isStray(pod)) void removeStray(cluster, pod);
	}

	/** Workers that were adopted unseen, and Pods that the service does not know. */
	function synced(cluster: Cluster, began: LocalMs): void {
		for (const worker of workers.values()) if (worker.cluster === cluster) worker.synced(began);
		void sweep(cluster);
	}

	const isStray = (pod: Pod): boolean =>
		!closed &&
		owned.has(endpointOf(pod) ?? "") &&
		!workers.has(workerOf(pod) ?? "") &&
		pod.metadata.deletionTimestamp === undefined;

	async function removeStray(cluster: Cluster, pod: Pod): Promise<boolean> {
		try {
			await cluster.remove(pod.metadata, hasEnded(pod) ? 0 : STRAY_GRACE_SECONDS);
			return true;
		} catch (error) {
			// Tried again after the next list.
			log(`Pod ${pod.metadata.name} was not deleted: ${sentenceOf(error, cluster.client.server)}`);
			return false;
		}
	}

	async function sweep(cluster: Cluster): Promise<number> {
		const strays = [...cluster.watch.pods.values()].filter(isStray);
		const removed = await Promise.all(strays.map((pod) => removeStray(cluster, pod)));
		return removed.filter((each) => each).length;
	}

	function add(id: string, cluster: Cluster, tries: number): PodWorker {
		const worker = podWorker({
			id,
			cluster,
			tries,
			clock,
			logDir,
			log,
			onNotice(notice) {
				if (!closed) for (const listener of noticeListeners) listener(notice);
			},
			onExit(end) {
				workers.delete(id);
				if (closed) return;
				const exit = { workerId: id, ...end, lastOutput: tail(logPath(logDir, id)) };
				for (const listener of exitListeners) listener(exit);
			},
		});
		workers.set(id, worker);
		return worker;
	}

	async function create(spec: WorkerSpec<KubernetesSettings>): Promise<Handle> {
		const { context, namespace, imagePullTries = IMAGE_PULL_TRIES } = spec.settings;
		const place: Place = { context, namespace, service: shortHash(spec.serviceId) };
		const cluster = clusterAt(place);
		await cluster.watch.ready(START_MS);
		const worker = add(spec.workerId, cluster, imagePullTries);
		const manifest = podOf(spec);
		let pod: PodName | undefined;
		try {
			pod = await cluster.create(manifest);
			await cluster.createSecret(secretOf(spec, pod));
			worker.begin(pod);
			return {
				...(context !== undefined && { context }),
				namespace: cluster.namespace,
				service: place.service,
				pod: pod.name,
				uid: pod.uid,
				tries: imagePullTries,
			};
		} catch (error) {
			worker.leave();
			workers.delete(spec.workerId);
			// Without an answer it may exist: found as a stray later, should this fail too.
			if (pod || statusOf(error) === undefined)
				await cluster.remove(pod ?? { name: podName(spec), uid: "" }, 0).catch(() => {});
			throw error;
		}
	}

	/** Why Pods are prepared for long, by one question for all. */
	async function explain(): Promise<void> {
		if (explaining) return;
		explaining = true;
		for (;;) {
			await clock.sleep(EXPLAIN_MS, left.signal);
			const waiting = [...workers.values()].filter((worker) => worker.isPrepared());
			if (closed || waiting.length === 0) break;
			for (const cluster of new Set(waiting.map((worker) => worker.cluster))) {
				const events = await cluster.events().catch(() => new Map<string, PodEvent>());
				for (const worker of waiting) worker.explain(events);
			}
		}
		explaining = false;
	}

	function sentence(error: unknown): string {
		const server = [...clusters.values()][0]?.client.server ?? "";
		return sentenceOf(error, server);
	}

	return {
		name: "kubernetes",

		async start(spec: WorkerSpec<KubernetesSettings>) {
			await pruneLogs(logDir, workers.keys(), clock.wall());
			if (workers.has(spec.workerId)) throw new Error(`worker ${spec.workerId} already runs`);
			try {
				if (loopbackOf(spec.url) && !usesHostNetwork(spec.settings))
					throw new Error(
						`a Pod does not reach the service at ${spec.url}: set publicUrl to its address for Pods, ` +
							"such as http://sluice.NAMESPACE.svc:8080",
					);
				owned.add(spec.endpoint);
				return await create(spec);
			} catch (error) {
				throw new Error(
					`cannot start a worker of endpoint "${spec.endpoint}": ${sentence(error)}`,
					{ cause: error },
				);
			}
		},

		async adopt(workerId, handle) {
			const { namespace, service, pod: name, uid, context, tries } = handle;
			if (workers.has(workerId)) return workers.get(workerId)!.is(String(uid));
			if (typeof name !== "string" || typeof uid !== "string") return false;
			try {
				const place = {
					context: context === undefined ? undefined : String(context),
					namespace: String(namespace),
					service: String(service),
				};
				const cluster = clusterAt(place);
				const isSynced = await cluster.watch.ready(ADOPT_MS).then(
					() => true,
					() => false,
				);
				const pod = cluster.watch.pods.get(uid);
				if (isSynced && (!pod || workerOf(pod) !== workerId)) return false;
				const worker = add(workerId, cluster, Number(tries ?? IMAGE_PULL_TRIES));
				worker.begin({ name, uid });
				return true;
			} catch (error) {
				log(`worker ${workerId} was not adopted: ${sentence(error)}`);
				return false;
			}
		},

		async stop(workerId, graceMs) {
			await workers.get(workerId)?.stop(graceMs);
		},

		list: async () => [...workers.values()].filter((each) => each.runs()).map(({ id }) => id),

		async removeStrays({ serviceId, endpoints }) {
			let removed = 0;
			const service = shortHash(serviceId);
			const places = new Map<string, Place>();
			for (const { id, settings } of endpoints) {
				owned.add(id);
				const { context, namespace } = settings as KubernetesSettings;
				places.set(JSON.stringify([context, namespace]), { context, namespace, service });
			}
			for (const place of places.values()) {
				try {
					const cluster = clusterAt(place);
					await cluster.watch.ready(ADOPT_MS);
					removed += await sweep(cluster);
				} catch (error) {
					log(`Pods left behind are deleted later: ${sentence(error)}`);
				}
			}
			return removed;
		},

		release(endpoint) {
			owned.delete(endpoint);
			for (const worker of workers.values()) {
				if (worker.endpoint() !== endpoint) continue;
				worker.leave();
				workers.delete(worker.id);
			}
		},

		setBusy(workerId, busy) {
			workers.get(workerId)?.setBusy(busy);
		},

		onExit(listener) {
			exitListeners.push(listener);
		},

		onNotice(listener) {
			noticeListeners.push(listener);
		},

		async close() {
			closed = true;
			left.abort();
			for (const worker of workers.values()) worker.leave();
			workers.clear();
			for (const cluster of clusters.values()) cluster.close();
		},
	};
}
