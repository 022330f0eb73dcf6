/** What a Pod's status says about its worker (D29). */
import type { ExitReason, WorkerReason } from "../../../kernel/core/workers/worker-reason.ts";
import { ANNOTATIONS, BUSY_ANNOTATIONS, CONTAINER, LABELS } from "../objects/names.ts";

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

function statusOf({ status }: Pod): ContainerStatus | undefined {
	return status?.containerStatuses?.find(({ name }) => name === CONTAINER);
}

export function hasBegun(pod: Pod): boolean {
	const { running, terminated } = statusOf(pod)?.state ?? {};
	return running !== undefined || terminated !== undefined;
}

/** Whether the worker has ended; sidecars may still run. */
export function hasEnded(pod: Pod): boolean {
	const { phase } = pod.status ?? {};
	return statusOf(pod)?.state?.terminated !== undefined || phase === "Succeeded" || phase === "Failed";
}

/** Whether the node of a running Pod has stopped reporting: the Pod is then not ready. */
export function isOnLostNode(pod: Pod): boolean {
	const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
	return statusOf(pod)?.state?.running !== undefined && ready?.status !== "True";
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
	const init = pod.status?.initContainerStatuses?.find(({ state }) => state?.waiting?.message);
	const { reason = "", message } = (init ?? statusOf(pod))?.state?.waiting ?? {};
	const image = pod.spec?.containers?.find(({ name }) => name === CONTAINER)?.image ?? "";
	if (PULLS.includes(reason))
		return {
			code: "image_pull",
			message: `Image ${image} cannot be pulled: ${message ?? reason}`,
			...(FINAL.includes(reason) && { giveUpAfterMs: 0 }),
		};
	if (/Config|Create|Run/.test(reason) && reason.endsWith("Error"))
		return { code: "config", message: configText(message ?? reason), giveUpAfterMs: CONFIG_MS };
	const node = pod.spec?.nodeName;
	return {
		code: "starting",
		message: node === undefined ? "Its Pod waits for a node." : `Node ${node} prepares its Pod.`,
	};
}

/** Whether a pull has just failed; false during the pause after it. */
export function isFailedPull(pod: Pod): boolean {
	return statusOf(pod)?.state?.waiting?.reason === "ErrImagePull";
}

function configText(message: string): string {
	const text = `Its container cannot be created: ${message}`;
	return /runAsNonRoot/.test(message)
		? `${text}. Set runAsUser to the number of a user, or to 0 where the namespace permits root.`
		: text;
}

const ENDS: Readonly<Record<string, { code: ExitReason["code"]; crash: boolean }>> = {
	Evicted: { code: "evicted", crash: false },
	Preempting: { code: "preempted", crash: false },
	DeadlineExceeded: { code: "time_limit", crash: false },
	NodeLost: { code: "node_failed", crash: false },
	NodeShutdown: { code: "node_drained", crash: false },
	Shutdown: { code: "node_drained", crash: false },
	Terminated: { code: "node_drained", crash: false },
	// The node refused it and may refuse the next one at once.
	UnexpectedAdmissionError: { code: "unschedulable", crash: true },
	NodeAffinity: { code: "unschedulable", crash: true },
};

const MISSING: ExitReason = {
	code: "deleted",
	message: "Its Pod is missing: the Pod or its node was deleted.",
	crash: false,
};

/** The worker has exceeded its own limits. */
const OWN_FAULT = /exceed/i;

export function endOf(pod: Pod | undefined, { asked }: { asked: boolean }): { code?: number; reason?: ExitReason } {
	if (!pod) return asked ? {} : { reason: MISSING };
	const { reason: why = "", message = "" } = pod.status ?? {};
	const terminated = statusOf(pod)?.state?.terminated;
	const code = terminated && { code: terminated.exitCode };
	const end = ENDS[why] ?? (why.startsWith("OutOf") ? ENDS["NodeAffinity"] : undefined);
	if (end)
		return {
			...code,
			reason: {
				code: end.code,
				message: message === "" ? why : message.trim(),
				crash: end.crash || OWN_FAULT.test(message),
			},
		};
	if (terminated?.reason === "OOMKilled")
		return { ...code, reason: { code: "out_of_memory", message: memoryText(pod), crash: true } };
	if (terminated && /CannotRun|StartError/.test(terminated.reason ?? ""))
		return {
			...code,
			reason: {
				code: "config",
				message: `Its command cannot be run: ${(terminated.message ?? "").trim()}`,
				crash: true,
			},
		};
	if (pod.metadata.deletionTimestamp !== undefined && !asked)
		return { ...code, reason: { ...deletionOf(pod), crash: false } };
	return { ...code };
}

function memoryText({ spec }: Pod): string {
	const limit = spec?.containers?.find(({ name }) => name === CONTAINER)?.resources?.limits?.["memory"];
	return limit === undefined
		? "Its node had no memory left, and it has no limit (resources.limits.memory)."
		: `It used more than its memory limit of ${limit} (resources.limits.memory).`;
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
