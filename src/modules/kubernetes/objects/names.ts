/** Names, labels and annotations of created objects (D25). */
import { hash } from "node:crypto";
import type { WorkerSpec } from "../../../kernel/launchers/launcher.ts";

/** A template changes the worker's container by this name. It is that of the adapter where the worker has one. */
export const CONTAINER = "worker";

/** The container of the server of a worker with an adapter. */
export const SERVER = "server";

export const LABELS = {
	managedBy: "app.kubernetes.io/managed-by",
	service: "sluice/service",
	endpoint: "sluice/endpoint",
	worker: "sluice/worker",
	spec: "sluice/spec",
} as const;

export const MANAGED_BY = "sluice";

/**
 * Annotations hold the full ids, since labels have at most 63 characters. `server`: name of the server's container;
 * absent if the worker has no adapter.
 */
export const ANNOTATIONS = {
	endpoint: "sluice/endpoint-id",
	worker: "sluice/worker-id",
	server: "sluice/server",
} as const;

/** Keep cluster-autoscaler and Karpenter from removing the node. */
export const BUSY_ANNOTATIONS: Readonly<Record<string, string>> = {
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
	"karpenter.sh/do-not-disrupt": "true",
};

const SLUG_LENGTH = 38;

/**
 * One name per possible worker: the API server refuses a second Pod of a name, whichever server creates it.
 * DNS-1123, at most 63 characters.
 */
export function podNames({ endpoint, serviceId, workersMax }: PodNamesOf): string[] {
	const prefix = joined([MANAGED_BY, slug(endpoint), shortHash(`${serviceId} ${endpoint}`)]);
	return Array.from({ length: workersMax }, (_, index) => `${prefix}-${index}`);
}

type PodNamesOf = Pick<WorkerSpec, "endpoint" | "serviceId" | "workersMax">;

/** Unique per worker, because the Secret of the Pod's predecessor may still exist. */
export function secretName({ endpoint, serviceId, workerId }: WorkerIds): string {
	return joined([MANAGED_BY, slug(endpoint), shortHash(`${serviceId} ${workerId}`)]);
}

/** The Secret of the server of a worker with an adapter. Names of Secrets may have 253 characters. */
export function serverSecretName(worker: WorkerIds): string {
	return `${secretName(worker)}-${SERVER}`;
}

function joined(parts: readonly string[]): string {
	return parts.filter((part) => part !== "").join("-");
}

type WorkerIds = Pick<WorkerSpec, "endpoint" | "serviceId" | "workerId">;

export function labelsOf(spec: WorkerIds, specHash: string): Record<string, string> {
	return {
		[LABELS.managedBy]: MANAGED_BY,
		[LABELS.service]: shortHash(spec.serviceId),
		[LABELS.endpoint]: shortHash(spec.endpoint),
		[LABELS.worker]: shortHash(spec.workerId),
		[LABELS.spec]: specHash,
	};
}

export function annotationsOf({ endpoint, workerId, adapter }: Annotated): Record<string, string> {
	return {
		[ANNOTATIONS.endpoint]: endpoint,
		[ANNOTATIONS.worker]: workerId,
		...(adapter && { [ANNOTATIONS.server]: SERVER }),
	};
}

type Annotated = WorkerIds & Pick<WorkerSpec, "adapter">;

export function shortHash(text: string): string {
	return hash("sha256", text, "hex").slice(0, 12);
}

function slug(text: string): string {
	return text
		.toLowerCase()
		.replaceAll(/[^a-z0-9]+/g, "-")
		.slice(0, SLUG_LENGTH)
		.replaceAll(/^-|-$/g, "");
}
