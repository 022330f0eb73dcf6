/** What a Pod's status says about a worker that waits or runs (D29). */
import type { WorkerReason } from "../../../kernel/core/workers/worker-reason.ts";
import { ANNOTATIONS, BUSY_ANNOTATIONS, CONTAINER, LABELS, SERVER } from "../objects/names.ts";

export interface Pod {
	metadata: {
		name: string;
		uid: string;
		resourceVersion?: string;
		deletionTimestamp?: string;
		creationTimestamp?: string;
		annotations?: Record<string, string>;
		labels?: Record<string, string>;
	};
	spec?: {
		nodeName?: string;
		containers?: {
			name: string;
			image?: string;
			resources?: { limits?: Record<string, string> };
		}[];
	};
	status?: {
		phase?: string;
		reason?: string;
		message?: string;
		conditions?: { type: string; status: string; reason?: string; message?: string }[];
		containerStatuses?: ContainerStatus[];
		initContainerStatuses?: ContainerStatus[];
	};
}

interface ContainerStatus {
	name: string;
	state?: {
		waiting?: { reason?: string; message?: string };
		running?: object;
		terminated?: Terminated;
	};
}

interface Terminated {
	exitCode: number;
	signal?: number;
	reason?: string;
	message?: string;
	/** RFC 3339, in whole seconds. */
	finishedAt?: string;
}

export function workerOf({ metadata }: Pod): string | undefined {
	return metadata.annotations?.[ANNOTATIONS.worker];
}

/** Returns the service's hash in the label of a Pod. */
export function serviceOf({ metadata }: Pod): string | undefined {
	return metadata.labels?.[LABELS.service];
}

export function endpointOf({ metadata }: Pod): string | undefined {
	return metadata.annotations?.[ANNOTATIONS.endpoint];
}

/** Whether the worker is an adapter with a server in a container of its own. */
export function hasServer({ metadata }: Pod): boolean {
	return metadata.annotations?.[ANNOTATIONS.server] !== undefined;
}

/** Containers of the worker, without sidecars of the template. The end of one ends the worker. */
export function containersOf(pod: Pod): readonly string[] {
	return hasServer(pod) ? [CONTAINER, SERVER] : [CONTAINER];
}

export function stateOf({ status }: Pod, container: string): NonNullable<ContainerStatus["state"]> {
	return status?.containerStatuses?.find(({ name }) => name === container)?.state ?? {};
}

/** Whether all of these containers run or have run. */
export function hasBegun(pod: Pod, containers = containersOf(pod)): boolean {
	return containers.every((each) => {
		const { running, terminated } = stateOf(pod, each);
		return running !== undefined || terminated !== undefined;
	});
}

/** Whether a container of the worker has ended; others may still run. */
export function hasEnded(pod: Pod): boolean {
	return containersOf(pod).some((each) => isOver(pod, [each]));
}

/** Whether all of these containers have ended; sidecars may still run. */
export function isOver(pod: Pod, containers = containersOf(pod)): boolean {
	const { phase } = pod.status ?? {};
	if (phase === "Succeeded" || phase === "Failed") return true;
	return containers.every((each) => stateOf(pod, each).terminated !== undefined);
}

/** Whether the Pod says how a container of the worker has ended. */
export function hasResult(pod: Pod): boolean {
	return containersOf(pod).some((each) => stateOf(pod, each).terminated !== undefined);
}

/** Whether the server has ended before its adapter. */
export function hasServerEnded(pod: Pod): boolean {
	return firstEnded(pod) === SERVER;
}

/** The container that ended first. One that ends with its server does so in the same second at the earliest. */
export function firstEnded(pod: Pod): string {
	const [adapter, server] = [CONTAINER, SERVER].map((each) => stateOf(pod, each).terminated);
	if (!server || !hasServer(pod)) return CONTAINER;
	return adapter && (adapter.finishedAt ?? "") < (server.finishedAt ?? "") ? CONTAINER : SERVER;
}

/** Whether the node of a running Pod has stopped reporting: the Pod is then not ready. */
export function isOnLostNode(pod: Pod): boolean {
	const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
	return hasBegun(pod) && !hasEnded(pod) && ready?.status !== "True";
}

/** Whether no container of the Pod runs. */
export function allEnded({ status }: Pod): boolean {
	return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].every(
		({ state }) => state?.running === undefined,
	);
}

export interface Waiting extends WorkerReason {
	/** Time until the worker is given up, ms; undefined if waiting may help. */
	giveUpAfterMs?: number;
}

/** Waiting reasons that no retry helps. */
const FINAL: readonly string[] = ["InvalidImageName", "ErrImageNeverPull"];
const PULLS: readonly string[] = ["ErrImagePull", "ImagePullBackOff", "ImageInspectError", ...FINAL];

/** Time for a missing Secret or claim to appear, ms: the Secret is created after the Pod. */
const CONFIG_MS = 30_000;

export function waitingOf(pod: Pod): Waiting | undefined {
	if (hasBegun(pod) || hasEnded(pod)) return undefined;
	const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
	if (scheduled?.status === "False")
		return {
			code: /volume/i.test(scheduled.message ?? "") ? "volume" : "unschedulable",
			message: `No node can take its Pod: ${scheduled.message ?? scheduled.reason ?? "no reason"}`,
		};
	const init = pod.status?.initContainerStatuses?.find(({ state }) => state?.waiting?.message)?.state?.waiting;
	const container = containersOf(pod).find((each) => faultOf(stateOf(pod, each).waiting?.reason)) ?? CONTAINER;
	const { reason = "", message } = init ?? stateOf(pod, container).waiting ?? {};
	const fault = faultOf(reason);
	if (fault === "image_pull")
		return {
			code: fault,
			message: `Image ${imageText(pod, container)} cannot be pulled: ${message ?? reason}`,
			...(FINAL.includes(reason) && { giveUpAfterMs: 0 }),
		};
	if (fault === "config") return { code: fault, message: configText(message ?? reason), giveUpAfterMs: CONFIG_MS };
	const node = pod.spec?.nodeName;
	return {
		code: "starting",
		message: node === undefined ? "Its Pod waits for a node." : `Node ${node} prepares its Pod.`,
	};
}

/** What a reason for which a container waits says about its settings. */
function faultOf(reason = ""): "image_pull" | "config" | undefined {
	if (PULLS.includes(reason)) return "image_pull";
	return /Config|Create|Run/.test(reason) && reason.endsWith("Error") ? "config" : undefined;
}

export function imageText(pod: Pod, container: string): string {
	const image = pod.spec?.containers?.find(({ name }) => name === container)?.image ?? "";
	return isAdapter(pod, container) ? `${image} of the adapter (launcher.adapterImage)` : image;
}

export function isAdapter(pod: Pod, container: string): boolean {
	return hasServer(pod) && container === CONTAINER;
}

/** Whether a pull has just failed; false during the pause after it. */
export function isFailedPull(pod: Pod): boolean {
	return containersOf(pod).some((each) => stateOf(pod, each).waiting?.reason === "ErrImagePull");
}

function configText(message: string): string {
	const text = `Its container cannot be created: ${message}`;
	return /runAsNonRoot/.test(message)
		? `${text}. Set runAsUser to the number of a user, or to 0 where the namespace permits root.`
		: text;
}

export function deletionOf({ metadata, spec, status }: Pod): WorkerReason {
	const { reason = "", message } =
		status?.conditions?.find(({ type, status: is }) => type === "DisruptionTarget" && is === "True") ?? {};
	const detail = message === undefined ? "" : `: ${message}`;
	if (reason.startsWith("Preemption"))
		return { code: "preempted", message: `A Pod of higher priority replaced it${detail}` };
	return {
		code: "node_drained",
		message:
			`Pod ${metadata.name} on node ${spec?.nodeName ?? "(none)"} is being deleted, not by this ` +
			`service: its node is drained, or it was deleted by hand${detail}`,
	};
}

export function isBusy({ metadata }: Pod): boolean {
	return Object.entries(BUSY_ANNOTATIONS).every(([key, value]) => metadata.annotations?.[key] === value);
}

export function preparationOf({ reason, message }: { reason: string; message: string }): WorkerReason | undefined {
	if (/Mount|Volume|Attach/.test(reason)) return { code: "volume", message };
	if (reason === "Pulling") return { code: "image_pull", message };
	if (reason.startsWith("Failed")) return { code: "starting", message };
	return undefined;
}
