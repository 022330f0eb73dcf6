import type { Clock } from "../../kernel/system/clock.ts";
import type { LocalMs } from "../../kernel/lib/time.ts";
import { kubernetesClient, statusOf } from "./api/client.ts";
import type { Connection } from "./api/credentials.ts";
import type { Json } from "./objects/merge.ts";
import { BUSY_ANNOTATIONS, LABELS, MANAGED_BY } from "./objects/names.ts";
import type { Pod } from "./pods/pod-status.ts";
import { podWatch } from "./pods/pod-watch.ts";

export interface Place {
	context?: string | undefined;
	namespace?: string | undefined;
	/** Hash of the service's id, as in the labels. */
	service: string;
}

export interface PodName {
	name: string;
	uid: string;
}

export type Cluster = ReturnType<typeof openCluster>;

/** The service's container in Pods of the chart and the overlays. */
const SERVICE_CONTAINER = "sluice";

export interface PodEvent {
	reason: string;
	message: string;
}

interface EventList {
	items: (PodEvent & { involvedObject: { uid?: string }; lastTimestamp?: string | null })[];
}

export function openCluster(
	place: Place,
	q: {
		connection: Connection;
		clock: Clock;
		onPod: (pod: Pod, present: boolean) => void;
		onSynced: (began: LocalMs) => void;
		onError: (error: unknown) => void;
	},
) {
	const client = kubernetesClient(q.connection);
	const namespace = place.namespace ?? client.namespace;
	const root = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
	const selector = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.service}=${place.service}`;
	const watch = podWatch({ ...q, client, namespace, selector });

	return {
		namespace,
		client,
		watch,
		async create(pod: Json): Promise<PodName> {
			const { metadata } = await client.call<Pod>("POST", `${root}/pods`, { body: pod });
			return { name: metadata.name, uid: metadata.uid };
		},
		async createSecret(secret: Json): Promise<void> {
			await client.call("POST", `${root}/secrets`, { body: secret });
		},
		/** Removes a Pod. A missing Pod, or another of its name, is no error. A grace of 0 does not wait for the node. */
		async remove({ name, uid }: PodName, gracePeriodSeconds: number): Promise<void> {
			const body = {
				apiVersion: "v1",
				kind: "DeleteOptions",
				gracePeriodSeconds,
				preconditions: { uid },
			};
			await client.call("DELETE", `${root}/pods/${name}`, { body }).catch((error: unknown) => {
				if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
			});
		},
		/** Reads a Pod without the watch, which may lag behind changes of another server. */
		async find({ name, uid }: PodName, timeoutMs: number): Promise<Pod | undefined> {
			const path = `${root}/pods/${name}`;
			const pod = await client.call<Pod>("GET", path, { timeoutMs }).catch((error: unknown) => {
				if (statusOf(error) !== 404) throw error;
			});
			return pod?.metadata.uid === uid ? pod : undefined;
		},
		/** Returns the image of the service; undefined if it runs in no Pod of this cluster, or may not read it. */
		async ownImage(): Promise<string | undefined> {
			const { ownPod } = q.connection;
			if (!ownPod) return undefined;
			const path = `/api/v1/namespaces/${encodeURIComponent(ownPod.namespace)}/pods/${ownPod.name}`;
			const pod = await client.call<Pod>("GET", path).catch((error: unknown) => {
				if (statusOf(error) !== 403 && statusOf(error) !== 404) throw error;
			});
			const containers = pod?.spec?.containers ?? [];
			return (containers.find(({ name }) => name === SERVICE_CONTAINER) ?? containers[0])?.image;
		},
		async setBusy({ name, uid }: PodName, busy: boolean): Promise<void> {
			const annotations = Object.fromEntries(
				Object.entries(BUSY_ANNOTATIONS).map(([key, value]) => [key, busy ? value : null]),
			);
			await client.call("PATCH", `${root}/pods/${name}`, {
				type: "application/merge-patch+json",
				body: { metadata: { uid, annotations } },
			});
		},
		/** Returns the last event message of each Pod, by uid. */
		async events(): Promise<Map<string, PodEvent>> {
			const { items } = await client.call<EventList>("GET", `${root}/events`, {
				query: { fieldSelector: "involvedObject.kind=Pod", limit: "500" },
			});
			const sorted = items.toSorted((a, b) => (a.lastTimestamp ?? "").localeCompare(b.lastTimestamp ?? ""));
			return new Map(sorted.map((event) => [event.involvedObject.uid ?? "", event]));
		},
		close(): void {
			watch.stop();
			void client.close();
		},
	};
}
