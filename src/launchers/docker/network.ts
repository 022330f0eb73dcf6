import { connect } from "node:net";
import { LOCAL } from "../../core/workers/hosts.ts";
import { loopbackOf } from "../loopback.ts";
import type { ContainerContext } from "./container-options.ts";
import type { Daemon } from "./daemon.ts";
import type { DockerHost } from "./hosts/host.ts";
import type { DockerSettings } from "./settings.ts";

/** Maximum wait for the service's port on a network's gateway, ms. */
const CONNECT_MS = 1000;

/** Throws an Error if a container could not reach the service at `url`. */
export async function containerContext(
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

/** Throws an Error if only this machine reaches the service. */
export function serviceAddress({ name, settings }: DockerHost, url: string): string {
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
