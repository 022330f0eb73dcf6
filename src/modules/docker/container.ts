import type { Clock } from "../../kernel/system/clock.ts";
import type { ExitReason } from "../../kernel/core/workers/worker-reason.ts";
import { framesOf } from "../../kernel/launchers/platform-streams.ts";
import { copyToLog, type LogTarget } from "../../kernel/launchers/logs/timed-log.ts";
import { endInGrace, KILL_TIMEOUT_MS } from "../../kernel/launchers/watched-workers.ts";
import { LABELS, serverName } from "./container-options.ts";
import type { Daemon, InspectedContainer } from "./daemon.ts";
import { statusOf, Unreachable } from "./daemon-calls.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { Spec } from "./worker.ts";

const RETRY_MS = 1000;

export interface ContainerEnd {
	code?: number;
	reason?: ExitReason;
}

export interface WatchedContainer extends LogTarget {
	host: DockerHost;
	container: string;
	left: AbortSignal;
	clock: Clock;
	log: (message: string) => void;
}

/**
 * Copies output until the container ends, also over interruptions of the connection to the host. Undefined once `left`
 * aborts.
 */
export async function endOf(q: WatchedContainer): Promise<ContainerEnd | undefined> {
	const { host, container, workerId, left, clock } = q;
	for (let logged = false; !left.aborted; ) {
		await host.reachable(left);
		try {
			await copyOutput(host.daemon, container, { ...q, signal: left });
		} catch (error) {
			if (statusOf(error) === 404) return {};
			if (!logged) q.log(`the output of worker ${workerId} could not be read, trying again: ${String(error)}`);
			logged = true;
		}
		try {
			// Output may end just before the container. If copying failed, this is the pause.
			await Promise.race([host.daemon.wait(container, left), clock.sleep(RETRY_MS, left)]);
			const { State, HostConfig } = await host.daemon.inspect(container);
			if (!State.Running) return endIn(State, HostConfig);
		} catch (error) {
			if (statusOf(error) === 404) return {};
			await clock.sleep(RETRY_MS, left);
		}
	}
	return undefined;
}

/**
 * Returns the container once its daemon answers. `foreign`: it is missing, or has not the marks of the service and the
 * worker. Undefined once `left` aborts.
 */
export async function ownContainer(
	serviceId: string,
	{ host, container, workerId, left, clock }: WatchedContainer,
): Promise<InspectedContainer | "foreign" | undefined> {
	while (!left.aborted) {
		await host.reachable(left);
		try {
			const inspected = await host.daemon.inspect(container);
			return hasMarks(inspected, { serviceId, workerId }) ? inspected : "foreign";
		} catch (error) {
			if (statusOf(error) === 404) return "foreign";
			await clock.sleep(RETRY_MS, left);
		}
	}
	return undefined;
}

export function hasMarks(
	{ Config: { Labels } }: Pick<InspectedContainer, "Config">,
	{ serviceId, workerId }: Pick<Spec, "serviceId" | "workerId">,
): boolean {
	return Labels[LABELS.service] === serviceId && Labels[LABELS.worker] === workerId;
}

/** Name of the container of the worker's server; undefined if this is not the container of an adapter. */
export function serverOf({ Config: { Labels } }: InspectedContainer): string | undefined {
	return Labels[LABELS.part] === "adapter" ? serverName(Labels[LABELS.worker] ?? "") : undefined;
}

function endIn(
	{ ExitCode, OOMKilled }: InspectedContainer["State"],
	{ Memory = 0 }: InspectedContainer["HostConfig"],
): ContainerEnd {
	if (!OOMKilled) return { code: ExitCode };
	const limit = Memory > 0 ? `its limit of ${Math.round(Memory / 1024 ** 2)} MiB` : "its machine has";
	const message = `Its container was killed: it used more memory than ${limit}.`;
	return { code: ExitCode, reason: { code: "out_of_memory", message, crash: true } };
}

export async function copyOutput(daemon: Daemon, container: string, q: Parameters<typeof copyToLog>[0]): Promise<void> {
	const { signal } = q;
	await copyToLog(q, async (since) => framesOf(await daemon.logs(container, { since, signal })));
}

/**
 * Sends SIGTERM, then SIGKILL after the grace. `over` aborts at the container's end. Throws if the container survives
 * SIGKILL by 10 s.
 */
export async function endContainer(
	clock: Clock,
	daemon: Daemon,
	{ container, grace, over }: { container: string; grace: { graceLeftMs: number }; over: AbortSignal },
): Promise<void> {
	await endInGrace(clock, grace, {
		terminate: () => sendSignal(clock, daemon, container, "SIGTERM"),
		hasEnded: () => over.aborted,
		signal: over,
	});
	if (over.aborted) return;
	await sendSignal(clock, daemon, container, "SIGKILL");
	// A paused container may refuse the signal, or not act on it.
	const isThawed = await daemon.unpause(container).then(
		() => true,
		() => false,
	);
	if (isThawed) await sendSignal(clock, daemon, container, "SIGKILL");
	await clock.sleep(KILL_TIMEOUT_MS, over);
	if (!over.aborted) throw new Error(`its container still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
}

/** Sends a signal. A container that has ended is no error. Waits 10 s for a daemon that does not answer. */
export async function sendSignal(
	clock: Clock,
	daemon: Daemon,
	container: string,
	name: "SIGTERM" | "SIGKILL",
): Promise<void> {
	const until = clock.now() + KILL_TIMEOUT_MS;
	for (;;) {
		try {
			return await daemon.kill(container, name);
		} catch (error) {
			const status = statusOf(error);
			if (status === 404 || status === 409) return;
			if (status !== undefined || error instanceof Unreachable || clock.now() >= until) throw error;
			await clock.sleep(RETRY_MS);
		}
	}
}

/**
 * Removes containers of other workers of the service, and returns the number of these workers. Throws only if the
 * daemon does not answer.
 */
export async function removeOthers(
	{ daemon, removals }: DockerHost,
	serviceId: string,
	isKnown: (workerId: string) => boolean,
): Promise<number> {
	const found = await daemon.list({ label: `${LABELS.service}=${serviceId}`, all: true });
	const strays = found.filter(({ Labels }) => !isKnown(Labels[LABELS.worker] ?? ""));
	const removed = new Set<string>();
	for (const { Id, Labels } of strays) if (await removals.remove(Id)) removed.add(Labels[LABELS.worker] ?? Id);
	return removed.size;
}
