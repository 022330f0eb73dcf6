/**
 * All Pods of one service in one namespace, by one list and one watch: resumed after each end of the
 * stream, listed again when the server has forgotten the version (410) and every 5 minutes.
 */
import type { Clock } from "../../clock.ts";
import type { LocalMs } from "../../core/time.ts";
import { PlatformUnavailable } from "../launcher.ts";
import { jsonLines } from "../platform-streams.ts";
import { type KubernetesClient, statusOf } from "./client.ts";
import type { Pod } from "./pod-status.ts";

/** Between two lists, ms. */
const RESYNC_MS = 300_000;
/** After which the server ends the watch, s; longer than the resync. */
const WATCH_SECONDS = 330;
/** First and longest pause after a failure, ms; doubled each time. */
const PAUSE_MS = [250, 5000] as const;
const PAGE = "100";
/** More than a service has; an API server that lists more is not believed. */
const MOST_PODS = 50_000;

export interface PodWatch {
	/** Pods by uid, as last seen. */
	readonly pods: ReadonlyMap<string, Pod>;
	/** Rejects with the last failure if the first list takes longer than `ms`. */
	ready(ms: number): Promise<void>;
	stop(): void;
}

interface Event {
	type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
	object: Pod & { code?: number; message?: string };
}

interface PodList {
	metadata: { resourceVersion: string; continue?: string };
	items: Pod[];
}

export function podWatch(q: {
	client: KubernetesClient;
	clock: Clock;
	namespace: string;
	selector: string;
	/** A Pod is new or has changed, or it is missing from now on. */
	onPod: (pod: Pod, present: boolean) => void;
	/** After each list, with the time when it began. */
	onSynced: (began: LocalMs) => void;
	onError: (error: unknown) => void;
}): PodWatch {
	const path = `/api/v1/namespaces/${encodeURIComponent(q.namespace)}/pods`;
	const pods = new Map<string, Pod>();
	const stopped = new AbortController();
	const synced = Promise.withResolvers<void>();
	let failure: unknown;
	/** To watch from; undefined: to list again. */
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

	/** Until the stream ends. */
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
				// Something between may end every stream at once.
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
		pods,
		async ready(ms) {
			const over = new AbortController();
			const late = q.clock.sleep(ms, over.signal).then(() => {
				if (!over.signal.aborted) throw failure ?? new PlatformUnavailable("the list of Pods takes too long");
			});
			await Promise.race([synced.promise, late]).finally(() => {
				late.catch(() => {});
				over.abort();
			});
		},
		stop: () => stopped.abort(),
	};
}
