/**
 * Runs workers as Pods, one bare Pod each, found by their labels. They outlive the service, and
 * another server can take them over (D25, D34).
 */
import type { LocalMs } from "../../core/time.ts";
import type { LauncherDependencies } from "../definition.ts";
import {
	type Exit,
	type Handle,
	type Launcher,
	type Notice,
	PlatformUnavailable,
	type WorkerSpec,
} from "../launcher.ts";
import { listeners } from "../listeners.ts";
import { logPath, pruneLogs, tail } from "../log-files.ts";
import { loopbackOf } from "../loopback.ts";
import { isUnanswered, Refusal, sentenceOf } from "./client.ts";
import { type Cluster, openCluster, type Place, type PodEvent, type PodName } from "./cluster.ts";
import { podNames, shortHash } from "./names.ts";
import { podOf, secretOf, usesHostNetwork } from "./objects.ts";
import { allEnded, endpointOf, hasEnded, type Pod, waitingOf, workerOf } from "./pod-status.ts";
import { podWorker, type PodWorker, type WorkerOptions } from "./pod-worker.ts";
import { IMAGE_PULL_TRIES, type KubernetesSettings } from "./settings.ts";

/** Timeout of the first Pod list: before a start, and before an adoption, ms. */
const START_MS = 10_000;
const ADOPT_MS = 5000;

/** Between two reads of events while nodes prepare Pods, ms. */
const EXPLAIN_MS = 5000;

/** Grace of Pods that nothing recorded, s; and for their nodes to report that they have begun, ms. */
const STRAY_GRACE_SECONDS = 1;
const BEGIN_MS = 10_000;

/** Until a Pod that could not be deleted is tried again, and until names are checked again, ms. */
const STRAY_RETRY_MS = 5000;
const CHECK_MS = 250;

/**
 * The `kubernetes` launcher (D25). A handle is the {@link Place} of the Pod with its name, its uid,
 * and the tries of its image. Output stays in `logDir`; Pods of ended workers are deleted.
 */
export function kubernetesLauncher({ clock, logDir, serviceEnv, log }: LauncherDependencies): Launcher {
	const workers = new Map<string, PodWorker>();
	const clusters = new Map<string, Cluster>();
	/** Ids of the endpoints whose strays are removed: this server starts their workers. */
	const owned = new Set<string>();
	let scales = (_endpoint: string): boolean => true;
	/** Names of Pods that are being created, or wait for their Secrets. */
	const creating = new Set<string>();
	/** Uids of strays that are being removed. */
	const removing = new Set<string>();
	const exits = listeners<[Exit]>("exits of workers", log);
	const notices = listeners<[Notice]>("notices of workers", log);
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
		sweep(cluster);
	}

	/** Whether the Pod belongs to no worker any more; a Pod that is being deleted, once nothing of it runs. */
	function isStray(pod: Pod): boolean {
		const endpoint = endpointOf(pod) ?? "";
		return (
			!closed &&
			owned.has(endpoint) &&
			scales(endpoint) &&
			!workers.has(workerOf(pod) ?? "") &&
			(pod.metadata.deletionTimestamp === undefined || (hasEnded(pod) && allEnded(pod)))
		);
	}

	/** Repeated after failures. */
	async function removeStray(cluster: Cluster, pod: Pod, again = false): Promise<void> {
		const { uid, name } = pod.metadata;
		if (removing.has(uid)) return;
		removing.add(uid);
		try {
			const settled = await settle(cluster, pod);
			const waits = waitingOf(settled)?.code ?? "starting";
			if (!isStray(settled)) return;
			// What cannot run is removed at once, and with it its name.
			const canRun = !hasEnded(settled) && waits === "starting";
			await cluster.remove(pod.metadata, canRun ? STRAY_GRACE_SECONDS : 0);
		} catch (error) {
			if (!again) log(`Pod ${name} was not deleted: ${sentenceOf(error, cluster.client.server)}`);
			void clock.sleep(STRAY_RETRY_MS, left.signal).then(() => {
				const now = cluster.watch.pods.get(uid);
				if (now && isStray(now)) void removeStray(cluster, now, true);
			});
		} finally {
			removing.delete(uid);
		}
	}

	/** Some kubelets end nothing, for a minute, of a Pod deleted between begin and report of its program. */
	async function settle(cluster: Cluster, pod: Pod): Promise<Pod> {
		const { uid, deletionTimestamp } = pod.metadata;
		let now = pod;
		for (let waitedMs = 0; waitedMs < BEGIN_MS && !closed; waitedMs += CHECK_MS) {
			if (now.spec?.nodeName === undefined || deletionTimestamp !== undefined) break;
			if (waitingOf(now)?.code !== "starting") break;
			await clock.sleep(CHECK_MS, left.signal);
			now = cluster.watch.pods.get(uid) ?? now;
		}
		return now;
	}

	/** Returns how many ran; their removal goes on. */
	function sweep(cluster: Cluster): number {
		const strays = [...cluster.watch.pods.values()].filter(isStray);
		for (const pod of strays) void removeStray(cluster, pod);
		return strays.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
	}

	function add(q: Pick<WorkerOptions, "id" | "endpoint" | "cluster" | "tries">): PodWorker {
		const { id } = q;
		const worker = podWorker({
			...q,
			clock,
			logDir,
			log,
			onNotice(notice) {
				if (!closed) notices.call(notice);
			},
			onExit(end) {
				if (closed || !forget(worker)) return;
				exits.call({ workerId: id, ...end, lastOutput: tail(logPath(logDir, id)) });
			},
		});
		workers.set(id, worker);
		return worker;
	}

	/** Whether it was known. */
	const forget = (worker: PodWorker): boolean => workers.get(worker.id) === worker && workers.delete(worker.id);

	/** With the first free one of the names for its endpoint, which then is in `creating`. */
	async function createPod(spec: WorkerSpec<KubernetesSettings>, cluster: Cluster) {
		const names = podNames(spec);
		const refused = new Set<string>();
		const giveUpAt = clock.now() + START_MS;
		for (;;) {
			const used = new Set([...cluster.watch.pods.values()].map(({ metadata }) => metadata.name));
			for (const worker of workers.values()) used.add(worker.pod()?.name ?? "");
			const name = names.find((each) => ![used, creating, refused].some((set) => set.has(each)));
			if (name === undefined) {
				if (closed || clock.now() >= giveUpAt)
					throw new Error(`the ${names.length} Pods that workersMax permits exist; some of them are not removed yet`);
				await clock.sleep(CHECK_MS, left.signal);
				refused.clear();
				continue;
			}
			creating.add(name);
			try {
				return await cluster.create(podOf(spec, name));
			} catch (error) {
				creating.delete(name);
				if (!(error instanceof Refusal) || error.reason !== "AlreadyExists") throw error;
				// The watch does not show it yet.
				refused.add(name);
			}
		}
	}

	async function create(spec: WorkerSpec<KubernetesSettings>): Promise<Handle> {
		const { workerId: id, endpoint, settings } = spec;
		const { context, namespace, imagePullTries: tries = IMAGE_PULL_TRIES } = settings;
		const place: Place = { context, namespace, service: shortHash(spec.serviceId) };
		const cluster = clusterAt(place);
		await cluster.watch.ready(START_MS);
		const worker = add({ id, endpoint, cluster, tries });
		let pod: PodName | undefined;
		try {
			pod = await createPod(spec, cluster);
			await cluster.createSecret(secretOf(spec, pod));
			if (workers.get(id) !== worker) throw new Error("another server starts its workers now");
			worker.begin(pod);
			return {
				...(context !== undefined && { context }),
				namespace: cluster.namespace,
				service: place.service,
				pod: pod.name,
				uid: pod.uid,
				tries,
			};
		} catch (error) {
			worker.leave();
			forget(worker);
			if (pod) await cluster.remove(pod, 0).catch(() => {});
			// Without an answer it may exist, now or later: the watch shows it.
			sweep(cluster);
			throw error;
		} finally {
			if (pod) creating.delete(pod.name);
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

	/** One that another server has just created may be missing from the watch. */
	async function found(cluster: Cluster, pod: PodName): Promise<Pod | undefined | "unknown"> {
		// An API server that does not answer is no exit: the next list shows whether it runs.
		return await cluster.find(pod, ADOPT_MS).catch(() => "unknown" as const);
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
				const Kind = isUnanswered(error) ? PlatformUnavailable : Error;
				throw new Kind(`cannot start a worker of endpoint "${spec.endpoint}": ${sentence(error)}`, { cause: error });
			}
		},

		async adopt(workerId, handle) {
			const { namespace, service, pod: name, uid, context, tries } = handle;
			if (workers.has(workerId)) return workers.get(workerId)!.pod()?.uid === uid;
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
				const seen = cluster.watch.pods.get(uid);
				const pod = seen ?? (isSynced ? await found(cluster, { name, uid }) : "unknown");
				if (pod === undefined || (pod !== "unknown" && workerOf(pod) !== workerId)) return false;
				const endpoint = pod === "unknown" ? undefined : endpointOf(pod);
				const worker = add({
					id: workerId,
					endpoint,
					cluster,
					tries: Number(tries ?? IMAGE_PULL_TRIES),
				});
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

		async removeStrays({ serviceId, endpoints, scales: isScaled = () => true }) {
			let removed = 0;
			scales = isScaled;
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
					removed += sweep(cluster);
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
			exits.add(listener);
		},

		onNotice(listener) {
			notices.add(listener);
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
