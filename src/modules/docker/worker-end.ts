/**
 * Follows the containers of a worker to their end: its own, and that of its server if it is an adapter. The end of
 * either ends the worker.
 */
import type { Clock } from "../../kernel/system/clock.ts";
import { ENDED_ALONE, REPORT_MS } from "../../kernel/launchers/adapter-container.ts";
import type { LogTarget } from "../../kernel/launchers/logs/timed-log.ts";
import { type ContainerEnd, copyOutput, endContainer, endOf, sendSignal, type WatchedContainer } from "./container.ts";
import type { Daemon } from "./daemon.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { Worker } from "./worker.ts";

const RETRY_MS = 1000;

interface WatchedWorkerContainers extends WatchedContainer {
	worker: Worker;
}

/**
 * Copies the output until all containers have ended. When one of two has ended, the other one is ended too. Returns the
 * end of the server if it ended on its own, else that of the worker's container. Undefined once `left` aborts.
 */
export async function endOfWorker(q: WatchedWorkerContainers): Promise<ContainerEnd | undefined> {
	const { container, left, worker } = q;
	const { server, adapterOver } = worker;
	if (server === undefined) return await endOf(q);
	const serverOver = new AbortController();
	const adapterEnd = endOf({ ...q, source: "adapter" }).finally(() => adapterOver.abort());
	const serverEnd = endOf({ ...q, container: server, source: "server" }).finally(() => serverOver.abort());
	let isOfServer = await Promise.race([adapterEnd.then(() => false), serverEnd.then(() => true)]);
	if (isOfServer) await endOther(q, { container, over: adapterOver.signal, graceMs: REPORT_MS });
	else if (!left.aborted && worker.ending === undefined) {
		// The end of a server may be seen after that of its adapter. A stop ends the server itself.
		isOfServer = await hasEnded(q.host.daemon, server);
		if (!isOfServer) await endOther(q, { container: server, over: serverOver.signal, graceMs: 0 });
	}
	const [ofAdapter, ofServer] = await Promise.all([adapterEnd, serverEnd]);
	if (!ofAdapter || !ofServer) return undefined;
	if (!isOfServer) return ofAdapter;
	return ofServer.code === 0 ? { ...ofServer, code: ENDED_ALONE } : ofServer;
}

/**
 * SIGTERM to the worker's container, and when it has ended, its jobs finished, to that of its server; SIGKILL to what
 * runs after the grace. Throws if a container survives that by 10 s.
 */
export async function endWorker(clock: Clock, daemon: Daemon, worker: Worker): Promise<void> {
	const { container, server, adapterOver } = worker;
	const over = worker.over.signal;
	const q = { grace: worker, over };
	if (container === undefined) return;
	if (server === undefined) return await endContainer(clock, daemon, { ...q, container });
	await endContainer(clock, daemon, { ...q, container, over: AbortSignal.any([adapterOver.signal, over]) });
	await endContainer(clock, daemon, { ...q, container: server });
}

/**
 * Copies the output of a worker whose container has ended while no service ran; its server is ended first. Rejects if
 * the daemon does not answer, or a container is missing.
 */
export async function copyEnded(
	clock: Clock,
	daemon: Daemon,
	{ container, server, ...q }: LogTarget & { container: string; server: string | undefined },
): Promise<void> {
	const { signal } = new AbortController();
	await copyOutput(daemon, container, { ...q, signal, ...(server !== undefined && { source: "adapter" }) });
	if (server === undefined) return;
	await sendSignal(clock, daemon, server, "SIGKILL");
	await copyOutput(daemon, server, { ...q, signal, source: "server" });
}

/** Removes the containers of a worker, later if the daemon refuses to. Throws if it does not answer. */
export async function removeContainers(
	{ removals }: DockerHost,
	{ container, server }: { container: string; server: string | undefined },
): Promise<void> {
	await removals.remove(container);
	if (server !== undefined) await removals.remove(server);
}

async function hasEnded(daemon: Daemon, container: string): Promise<boolean> {
	return await daemon.inspect(container).then(
		({ State }) => !State.Running,
		() => false,
	);
}

/** Ends a container, however long its host is unreachable. */
async function endOther(
	{ host, left, clock, log, workerId }: WatchedWorkerContainers,
	{ container, graceMs, ...q }: { container: string; over: AbortSignal; graceMs: number },
): Promise<void> {
	const over = AbortSignal.any([q.over, left]);
	const grace = { graceLeftMs: graceMs };
	for (let isLogged = false; !over.aborted; isLogged = true) {
		await host.reachable(over);
		if (over.aborted) return;
		await endContainer(clock, host.daemon, { container, grace, over }).catch((error: unknown) => {
			if (!isLogged) log(`${container} of worker ${workerId} could not be ended, trying again: ${String(error)}`);
		});
		await clock.sleep(RETRY_MS, over);
	}
}
