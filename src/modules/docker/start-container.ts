import { connect } from "node:net";
import type { Clock } from "../../kernel/system/clock.ts";
import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import { loopbackOf } from "../../kernel/launchers/loopback.ts";
import { type ContainerContext, containerOptions } from "./container-options.ts";
import type { CreateOptions, Daemon } from "./daemon.ts";
import { statusOf } from "./daemon-calls.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { DockerSettings } from "./settings.ts";
import type { Place, Spec } from "./worker.ts";

const BEGIN_MS = 10;
/** The processes of a container that has just ended may be unreadable for this time, ms. */
const UNREADABLE_MS = 1000;

const INIT = /^\S*\b(docker-init|podman-init|catatonit|tini)\b/;

/** Messages also contain commands, such as `set-rlimit.sh`. */
function isLimitRefused(message: string): boolean {
	return /error setting rlimit|setrlimit/i.test(message) && /not permitted/i.test(message);
}

/** Another service has placed a worker on the same GPUs. */
export class GpusTaken extends Error {}

export interface ContainerStart extends Pick<Place, "host" | "gpus"> {
	spec: Spec;
	/** Called between creation and start of the container that gets GPUs. */
	stillFits: () => Promise<boolean>;
}

/**
 * Creates and starts the container of a worker, and returns its id. A failure leaves no container behind. Throws
 * {@link GpusTaken} if its GPUs do not fit any more.
 */
export async function startContainer(clock: Clock, q: ContainerStart): Promise<string> {
	const { spec, host } = q;
	return await recheckIfUnanswered(host, async () => {
		const context = await contextOf(q);
		return await runContainer(clock, q, (raisesLimits) => containerOptions(spec, { ...context, raisesLimits }));
	});
}

/** Searches the host for strays if `work` got no answer: what it was to create may exist. */
export async function recheckIfUnanswered<T>(host: DockerHost, work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		if (statusOf(error) === undefined && !(error instanceof GpusTaken)) void host.recheck();
		throw error;
	}
}

/** Throws an Error if the container could not reach the service. */
export async function contextOf({ spec, host, gpus }: Omit<ContainerStart, "stillFits">): Promise<ContainerContext> {
	const url = serviceAddress(host, spec.url);
	const network = await networkOf(host.daemon, spec.settings, url);
	const place = spec.settings.hosts && host.name;
	const sizes = (host.gpus ?? []).filter(({ id }) => gpus.includes(id)).map(({ memoryGb }) => memoryGb);
	const gpuSizeGb = sizes.length > 0 ? Math.max(...sizes) : undefined;
	return { ...network, gpus, gpuSizeGb, place, ...(url !== spec.url && { url }) };
}

/** Creates and starts a container, and returns its id. A failure leaves it not behind. */
export async function runContainer(
	clock: Clock,
	{ host, gpus, stillFits }: Omit<ContainerStart, "spec">,
	options: (raisesLimits: boolean) => CreateOptions,
): Promise<string> {
	const { daemon } = host;
	for (let { raisesLimits } = host; ; raisesLimits = false) {
		const container = await daemon.create(options(raisesLimits));
		try {
			if (gpus.length > 0 && !(await stillFits())) throw new GpusTaken();
			await daemon.start(container);
			await begun(clock, daemon, container);
			host.raisesLimits = raisesLimits;
			return container;
		} catch (error) {
			await host.removals.remove(container).catch(() => void host.recheck());
			if (!raisesLimits || !isLimitRefused((error as Error).message)) throw error;
		}
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

/** Maximum wait for the service's port on a network's gateway, ms. */
const CONNECT_MS = 1000;

/** Finds the network of a container. Throws an Error if the container could not reach the service at `url`. */
async function networkOf(
	daemon: Daemon,
	{ network }: Pick<DockerSettings, "network">,
	url: string,
): Promise<Pick<ContainerContext, "network" | "machine">> {
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
