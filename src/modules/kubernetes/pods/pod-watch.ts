/**
 * All Pods of one service in one namespace, by a list and a watch. Listed again when the server has forgotten the
 * version (410) and every 5 minutes.
 */
import type { Clock } from "../../../kernel/system/clock.ts";
import type { LocalMs } from "../../../kernel/lib/time.ts";
import { PlatformUnavailable } from "../../../kernel/launchers/launcher.ts";
import { jsonLines } from "../../../kernel/launchers/platform-streams.ts";
import { type KubernetesClient, statusOf } from "../api/client.ts";
import type { Pod } from "./pod-status.ts";

const RESYNC_MS = 300_000;
/** Time after which the server ends the watch, s; longer than the interval of lists. */
const WATCH_SECONDS = 330;
const PAUSE_MS = [250, 5000] as const;
const PAGE = "100";
/** Maximum Pods that are kept, so that a faulty API server cannot fill the memory. */
const MOST_PODS = 50_000;

interface Event {
	type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
	object: Pod & { code?: number; message?: string };
}

interface PodList {
	metadata: { resourceVersion: string; continue?: string };
	items: Pod[];
}

interface PodWatchOptions {
	client: KubernetesClient;
	clock: Clock;
	namespace: string;
	selector: string;
	/** `present` is false once the Pod is missing. */
	onPod: (pod: Pod, present: boolean) => void;
	/** Called after each list with the time of its request. */
	onSynced: (began: LocalMs) => void;
	onError: (error: unknown) => void;
}

export function podWatch(q: PodWatchOptions) {
	const path = `/api/v1/namespaces/${encodeURIComponent(q.namespace)}/pods`;
	const pods = new Map<string, Pod>();
	const stopped = new AbortController();
	const synced = Promise.withResolvers<void>();
	let failure: unknown;
	let version: string | undefined;

	function put(pod: Pod): void {
		const { uid, resourceVersion } = pod.metadata;
		if (pods.get(uid)?.metadata.resourceVersion === resourceVersion) return;
		if (pods.size === MOST_PODS && !pods.has(uid)) throw new Error(`the API server lists over ${MOST_PODS} Pods`);
		pods.set(uid, pod);
		q.onPod(pod, true);
	}

	function remove(uid: string, last: Pod): void {
		if (pods.delete(uid)) q.onPod(last, false);
	}

	async function list(): Promise<void> {
		const found = new Set<string>();
		for (let next = ""; ; ) {
			const { metadata, items } = await q.client.call<PodList>("GET", path, {
				query: { labelSelector: q.selector, limit: PAGE, ...(next !== "" && { continue: next }) },
				signal: stopped.signal,
			});
			for (const pod of items) {
				found.add(pod.metadata.uid);
				put(pod);
			}
			next = metadata.continue ?? "";
			if (next !== "") continue;
			for (const [uid, pod] of [...pods]) if (!found.has(uid)) remove(uid, pod);
			version = metadata.resourceVersion;
			return;
		}
	}

	async function watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
		const stream = await q.client.stream(path, {
			query: {
				labelSelector: q.selector,
				watch: "true",
				allowWatchBookmarks: "true",
				timeoutSeconds: String(WATCH_SECONDS),
				resourceVersion,
			},
			signal,
		});
		for await (const { type, object } of jsonLines<Event>(stream, `the API server at ${q.client.server}`)) {
			// Mostly 410: the version is older than what the server keeps.
			if (type === "ERROR") return void (version = undefined);
			version = object.metadata.resourceVersion ?? version;
			if (type === "DELETED") remove(object.metadata.uid, object);
			else if (type !== "BOOKMARK") put(object);
		}
	}

	async function run(): Promise<void> {
		let pauseMs: number = PAUSE_MS[0];
		let listedAt = -Infinity;
		while (!stopped.signal.aborted) {
			const resync = new AbortController();
			const begun = q.clock.now();
			try {
				if (version === undefined || begun - listedAt >= RESYNC_MS) {
					await list();
					listedAt = begun;
					failure = undefined;
					synced.resolve();
					q.onSynced(begun);
				}
				const signal = AbortSignal.any([stopped.signal, resync.signal]);
				void q.clock.sleep(listedAt + RESYNC_MS - begun, signal).then(() => resync.abort());
				await watch(version!, signal);
				// A proxy may end every stream at once.
				if (q.clock.now() - begun < PAUSE_MS[1]) await q.clock.sleep(pauseMs, stopped.signal);
				pauseMs = PAUSE_MS[0];
			} catch (error) {
				if (stopped.signal.aborted) return;
				if (resync.signal.aborted) continue;
				if (statusOf(error) === 410) version = undefined;
				failure = error;
				q.onError(error);
				await q.clock.sleep(pauseMs, stopped.signal);
				pauseMs = Math.min(2 * pauseMs, PAUSE_MS[1]);
			} finally {
				resync.abort();
			}
		}
	}

	void run();
	return {
		pods: pods as ReadonlyMap<string, Pod>,
		/** Waits for the first list. Rejects with the last failure if it takes longer than `ms`. */
		async ready(ms: number): Promise<void> {
			const over = new AbortController();
			const late = q.clock.sleep(ms, over.signal).then(() => {
				if (!over.signal.aborted) throw failure ?? new PlatformUnavailable("the list of Pods takes too long");
			});
			await Promise.race([synced.promise, late]).finally(() => {
				late.catch(() => {});
				over.abort();
			});
		},
		stop: (): void => stopped.abort(),
	};
}
