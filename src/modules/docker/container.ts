import { connect } from "node:net";
import type { Clock } from "../../kernel/system/clock.ts";
import type { ExitReason } from "../../kernel/core/workers/worker-reason.ts";
import { framesOf } from "../../kernel/launchers/platform-streams.ts";
import { copyToLog } from "../../kernel/launchers/logs/timed-log.ts";
import { endInGrace, KILL_TIMEOUT_MS } from "../../kernel/launchers/watched-workers.ts";
import { containerOptions, LABELS, type ContainerContext } from "./container-options.ts";
import { type Daemon, type InspectedContainer, statusOf, Unreachable } from "./daemon.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { Place, Spec, Worker } from "./worker.ts";
import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import { loopbackOf } from "../../kernel/launchers/loopback.ts";
import type { DockerSettings } from "./settings.ts";

const RETRY_MS = 1000;
const BEGIN_MS = 10;
/** The processes of a container that has just ended may be unreadable for this time, ms. */
const UNREADABLE_MS = 1000;

const INIT = /^\S*\b(docker-init|podman-init|catatonit|tini)\b/;

interface ContainerEnd {
	code?: number;
	reason?: ExitReason;
}

/**
 * Copies output until the container ends, also over interruptions of the connection to the host. Undefined once `left`
 * aborts.
 */
export async function endOf(q: {
	host: DockerHost;
	container: string;
	workerId: string;
	left: AbortSignal;
	clock: Clock;
	logDir: string;
	log: (message: string) => void;
}): Promise<ContainerEnd | undefined> {
	const { host, container, workerId, left, clock } = q;
	for (let logged = false; !left.aborted; ) {
		await host.reachable(left);
		try {
			await copyOutput(host.daemon, container, { logDir: q.logDir, workerId, signal: left });
		} catch (error) {
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
 * Whether the container has the marks of the service and the worker, once its daemon answers. False if it is not there,
 * undefined once `left` aborts.
 */
export async function isStartedBy(
	serviceId: string,
	q: Pick<Parameters<typeof endOf>[0], "host" | "container" | "workerId" | "left" | "clock">,
): Promise<boolean | undefined> {
	const { host, container, workerId, left, clock } = q;
	while (!left.aborted) {
		await host.reachable(left);
		try {
			return hasMarks(await host.daemon.inspect(container), { serviceId, workerId });
		} catch (error) {
			if (statusOf(error) === 404) return false;
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

/** Messages also contain commands, such as `set-rlimit.sh`. */
function isLimitRefused(message: string): boolean {
	return /error setting rlimit|setrlimit/i.test(message) && /not permitted/i.test(message);
}

/** Another service has placed a worker on the same GPUs. */
export class GpusTaken extends Error {}

/**
 * Creates and starts a container, and returns its id. A failure leaves no container behind. `stillFits` is called
 * between creation and start. Throws {@link GpusTaken} if it returns false.
 */
export async function startContainer(
	clock: Clock,
	q: { spec: Spec; stillFits: () => Promise<boolean> } & Pick<Place, "host" | "gpus">,
): Promise<string> {
	const { spec, host, gpus } = q;
	const { daemon } = host;
	try {
		const url = serviceAddress(host, spec.url);
		const network = await containerContext(daemon, spec.settings, url);
		const place = spec.settings.hosts && host.name;
		const sizes = (host.gpus ?? []).filter(({ id }) => gpus.includes(id)).map(({ memoryGb }) => memoryGb);
		const gpuSizeGb = sizes.length > 0 ? Math.max(...sizes) : undefined;
		const context = { ...network, gpus, gpuSizeGb, place, ...(url !== spec.url && { url }) };
		for (let { raisesLimits } = host; ; raisesLimits = false) {
			const container = await daemon.create(containerOptions(spec, { ...context, raisesLimits }));
			try {
				if (gpus.length > 0 && !(await q.stillFits())) throw new GpusTaken();
				await daemon.start(container);
				await begun(clock, daemon, container);
				host.raisesLimits = raisesLimits;
				return container;
			} catch (error) {
				await host.removals.remove(container).catch(() => void host.recheck());
				if (!raisesLimits || !isLimitRefused((error as Error).message)) throw error;
			}
		}
	} catch (error) {
		// Without an answer the container may exist.
		if (statusOf(error) === undefined && !(error instanceof GpusTaken)) void host.recheck();
		throw error;
	}
}

/** Waits until the program has replaced the init process. Throws if it cannot be executed. */
async function begun(clock: Clock, daemon: Daemon, container: string): Promise<void> {
	const until = clock.now() + UNREADABLE_MS;
	for (;;) {
		try {
			const rows = await daemon.top(container);
			if (rows.some((row) => !INIT.test(row.at(-1) ?? ""))) return;
		} catch {
			const { State, Config } = await daemon.inspect(container);
			if (State.Running) {
				if (clock.now() >= until) return;
			} else {
				// Shell convention: 126 not executable, 127 not found.
				if (State.ExitCode !== 126 && State.ExitCode !== 127) return;
				const command = JSON.stringify(Config.Cmd ?? Config.Entrypoint);
				throw new Error(
					`the command ${command} was not found in the image, or may not be executed (exit code ${State.ExitCode})`,
				);
			}
		}
		await clock.sleep(BEGIN_MS);
	}
}

/** Sends SIGTERM, then SIGKILL after the grace. Throws if the container survives that by 10 s. */
export async function endContainer(clock: Clock, daemon: Daemon, worker: Worker): Promise<void> {
	const { container, over } = worker;
	if (container === undefined) return;
	await endInGrace(clock, worker, {
		terminate: () => signal(clock, daemon, container, "SIGTERM"),
		hasEnded: () => worker.hasEnded,
		signal: over.signal,
	});
	if (worker.hasEnded) return;
	await signal(clock, daemon, container, "SIGKILL");
	// A paused container may refuse the signal, or not act on it.
	const isThawed = await daemon.unpause(container).then(
		() => true,
		() => false,
	);
	if (isThawed) await signal(clock, daemon, container, "SIGKILL");
	await clock.sleep(KILL_TIMEOUT_MS, over.signal);
	if (!worker.hasEnded) throw new Error(`its container still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
}

/** Sends a signal. A container that has ended is no error. Waits 10 s for a daemon that does not answer. */
async function signal(clock: Clock, daemon: Daemon, container: string, name: "SIGTERM" | "SIGKILL"): Promise<void> {
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

/** Removes other containers of the service and returns their number. Throws only if the daemon does not answer. */
export async function removeOthers(
	{ daemon, removals }: DockerHost,
	serviceId: string,
	isKnown: (workerId: string) => boolean,
): Promise<number> {
	const found = await daemon.list({ label: `${LABELS.service}=${serviceId}`, all: true });
	const strays = found.filter(({ Labels }) => !isKnown(Labels[LABELS.worker] ?? ""));
	let count = 0;
	for (const { Id } of strays) count += Number(await removals.remove(Id));
	return count;
}

/** Maximum wait for the service's port on a network's gateway, ms. */
const CONNECT_MS = 1000;

/** Finds the network context of a container. Throws an Error if the container could not reach the service at `url`. */
async function containerContext(
	daemon: Daemon,
	{ network }: Pick<DockerSettings, "network">,
	url: string,
): Promise<ContainerContext> {
	// Docker Desktop runs in a virtual machine, whose daemon resolves this machine's name.
	const desktop = (await daemon.info()).OperatingSystem === "Docker Desktop";
	const name = network ?? (desktop ? "bridge" : "host");
	const loopback = loopbackOf(url);
	if (name === "host" || desktop || !loopback) return { network: name };
	const { IPAM } = await daemon.network(name);
	const machine = IPAM?.Config?.find(({ Gateway }) => Gateway !== undefined)?.Gateway;
	if (machine !== undefined && (await listens(machine, loopback.port))) return { network: name, machine };
	const where =
		machine === undefined ? "an address of this machine on that network" : `--host ${machine} or --host 0.0.0.0`;
	throw new Error(
		`the Docker network "${name}" does not reach the service, which listens at ${url}: ` +
			`start it with ${where}, set publicUrl, or use network: host`,
	);
}

/** Returns the address of the service for a host. Throws an Error if only this machine reaches it. */
function serviceAddress({ name, settings }: DockerHost, url: string): string {
	const address = settings.workerUrl ?? url;
	if (name !== LOCAL && settings.docker?.startsWith("unix:") !== true && loopbackOf(address))
		throw new Error(
			`workers there do not reach the service at ${address}: set hosts.${name}.workerUrl ` +
				"or publicUrl to its address in their network",
		);
	return address;
}

function listens(host: string, port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ host, port, timeout: CONNECT_MS });
		const end = (answer: boolean) => (): void => {
			socket.destroy();
			resolve(answer);
		};
		socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
	});
}
