/**
 * The connection to the Docker daemon that `DOCKER_HOST` names, by default the one of this machine;
 * and what it refuses, as sentences.
 */
import { connect } from "node:net";
import type Docker from "dockerode";
import { loopbackOf } from "./container-options.ts";
import type { ContainerContext } from "./container-options.ts";
import type { DockerSettings } from "./settings.ts";

export type { Container } from "dockerode";

/** How long the service's own port may take to answer on a network's gateway, ms. */
const CONNECT_MS = 1000;

/**
 * The daemon; the library is loaded when it is first needed, since most services have no use for
 * it.
 */
export function dockerClient(): () => Promise<Docker> {
	let client: Promise<Docker> | undefined;
	return () => (client ??= import("dockerode").then(({ default: Client }) => new Client()));
}

/**
 * Where a container is to stand. Throws a sentence when it could not reach the service at `url`
 * from there.
 */
export async function daemonAddress(
	docker: Docker,
	{ network }: DockerSettings,
	url: string,
): Promise<ContainerContext> {
	// Its containers run in a machine of their own, from which that name leads to this one.
	const desktop =
		((await docker.info()) as { OperatingSystem?: string }).OperatingSystem === "Docker Desktop";
	const name = network ?? (desktop ? "bridge" : "host");
	const loopback = loopbackOf(url);
	if (name === "host" || desktop || !loopback) return { network: name };
	const { IPAM } = (await docker.getNetwork(name).inspect()) as {
		IPAM?: { Config?: { Gateway?: string }[] | null };
	};
	const machine = IPAM?.Config?.find(({ Gateway }) => Gateway !== undefined)?.Gateway;
	if (machine !== undefined && (await answers(machine, loopback.port)))
		return { network: name, machine };
	const where =
		machine === undefined
			? "an address of this machine on that network"
			: `--host ${machine} or --host 0.0.0.0`;
	throw new Error(
		`from the Docker network "${name}" the service is not reached, which listens at ${url}: start it with ${where}, set publicUrl, or use network: host`,
	);
}

/** Whether somebody listens there. */
function answers(host: string, port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ host, port, timeout: CONNECT_MS });
		const end = (there: boolean) => (): void => {
			socket.destroy();
			resolve(there);
		};
		socket.once("connect", end(true)).once("error", end(false)).once("timeout", end(false));
	});
}

/** The HTTP status of a refusal of the daemon; undefined when it did not answer. */
export function statusOf(error: unknown): number | undefined {
	return (error as { statusCode?: number }).statusCode;
}

/** Why the daemon did not do something. */
export function sentenceOf(error: unknown, docker: Docker): string {
	const { code, message } = error as NodeJS.ErrnoException;
	const { socketPath, host } = docker.modem as { socketPath?: string; host?: string };
	const at = socketPath ?? host ?? "DOCKER_HOST";
	switch (code) {
		case "ENOENT":
		case "ECONNREFUSED":
		case "ECONNRESET":
		case "EHOSTUNREACH":
		case "ENOTFOUND":
		case "ETIMEDOUT":
			return `no Docker daemon answers at ${at}; start it, or set DOCKER_HOST for the service`;
		case "EACCES":
		case "EPERM":
			return `this user may not use the Docker daemon at ${at}; add it to the group docker`;
		default: {
			const said = (error as { json?: { message?: string } | null }).json?.message ?? message;
			if (/no such image/i.test(said))
				return `${said.replace(/\s+$/, "")}; it must be on the machine: build it there or use docker pull`;
			return said.trim();
		}
	}
}
