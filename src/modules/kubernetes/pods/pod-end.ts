/** How a worker has ended, by the status of its Pod (D28, D29). */
import type { ExitReason } from "../../../kernel/core/workers/worker-reason.ts";
import { ENDED_ALONE } from "../../../kernel/launchers/adapter-container.ts";
import { ADAPTER_COMMAND } from "../../../kernel/launchers/launcher.ts";
import { CONTAINER, SERVER } from "../objects/names.ts";
import { deletionOf, firstEnded, imageText, isAdapter, type Pod, stateOf } from "./pod-status.ts";

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

/** `asked`: the launcher has ended it. The end of a server is that of the worker unless its adapter ended before. */
export function endOf(pod: Pod | undefined, { asked }: { asked: boolean }): { code?: number; reason?: ExitReason } {
	if (!pod) return asked ? {} : { reason: MISSING };
	const { reason: why = "", message = "" } = pod.status ?? {};
	const container = asked ? CONTAINER : firstEnded(pod);
	const { terminated } = stateOf(pod, container);
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
		return { ...code, reason: { code: "out_of_memory", message: memoryText(pod, container), crash: true } };
	if (terminated && /CannotRun|StartError/.test(terminated.reason ?? ""))
		return {
			...code,
			reason: {
				code: "config",
				message: `${commandText(pod, container)} cannot be run: ${(terminated.message ?? "").trim()}`,
				crash: true,
			},
		};
	if (pod.metadata.deletionTimestamp !== undefined && !asked)
		return { ...code, reason: { ...deletionOf(pod), crash: false } };
	return container === SERVER && terminated?.exitCode === 0 ? { code: ENDED_ALONE } : { ...code };
}

function commandText(pod: Pod, container: string): string {
	if (!isAdapter(pod, container)) return "Its command";
	return `The program ${ADAPTER_COMMAND} of image ${imageText(pod, container)}`;
}

function memoryText(pod: Pod, container: string): string {
	const limit = pod.spec?.containers?.find(({ name }) => name === container)?.resources?.limits?.["memory"];
	const it = isAdapter(pod, container) ? "Its adapter" : "It";
	return limit === undefined
		? "Its node had no memory left, and it has no limit (resources.limits.memory)."
		: `${it} used more than its memory limit of ${limit} (resources.limits.memory).`;
}
