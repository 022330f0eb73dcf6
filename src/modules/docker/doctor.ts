/** `sluice doctor` checks for container workers: whether each daemon responds (D36, D44). */
import { type Finding, ok, problem } from "../../kernel/core/finding.ts";
import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import type { EndpointToCheck } from "../../kernel/launchers/definition.ts";
import { type Connection, connectionOf, connectionTo } from "./hosts/connection.ts";
import { type HostConfig, type HostSettings, NO_HOSTS } from "./hosts/host-schema.ts";
import { dockerDaemon } from "./daemon.ts";
import { sentenceOf } from "./daemon-calls.ts";
import type { DockerSettings } from "./settings.ts";
import type { Env } from "../../kernel/lib/env.ts";

const DOCKER_MS = 3000;
const HOST_MS = 12_000;

export async function findings(
	endpoints: readonly EndpointToCheck<DockerSettings>[],
	env: Env,
	{ hosts }: HostConfig = NO_HOSTS,
): Promise<Finding[]> {
	const local = endpoints.filter(({ launcher }) => usesLocal(launcher));
	const remote = Object.entries(hosts).filter(([name]) => name !== LOCAL);
	return await Promise.all([
		...(local.length > 0 ? [localFinding(local, env)] : []),
		...remote.map(([name, settings]) => hostFinding(name, settings, env)),
	]);
}

function usesLocal({ hosts }: DockerSettings): boolean {
	return hosts === undefined || (Array.isArray(hosts) && hosts.includes(LOCAL));
}

async function localFinding(endpoints: readonly EndpointToCheck[], env: Env): Promise<Finding> {
	let daemon = env["DOCKER_HOST"] ?? "DOCKER_HOST";
	try {
		const connection = connectionOf(env);
		daemon = env["DOCKER_HOST"] ?? connection.address;
		await ping(connection, DOCKER_MS);
		return ok("docker", `The Docker daemon at ${daemon} answers.`);
	} catch (error) {
		const { name, message } = error as Error;
		const fault = name === "TimeoutError" ? "no answer" : message;
		const ids = endpoints.map(({ id }) => `'${id}'`).join(", ");
		return problem(
			"docker",
			`The Docker daemon at ${daemon} does not answer (${fault}); ${ids} cannot start workers.`,
			"Start Docker, give this user access to its socket, or set DOCKER_HOST.",
		);
	}
}

async function hostFinding(name: string, { docker = "", tls }: HostSettings, env: Env): Promise<Finding> {
	const connection = connectionTo(docker, { env, secure: tls !== undefined, certificates: tls });
	const fix = `correct hosts.${name}.docker`;
	try {
		await ping(connection, HOST_MS);
		return ok("docker", `Host ${name}: the Docker daemon at ${docker} answers.`);
	} catch (error) {
		const sentence = sentenceOf(error, { address: connection.address, fix });
		return problem(
			"docker",
			`Host ${name} is unreachable: ${sentence}.`,
			"Correct hosts in sluice.yaml or that machine; see docs/guides/docker-hosts.md.",
		);
	}
}

async function ping(connection: Connection, timeoutMs: number): Promise<void> {
	const daemon = dockerDaemon(connection);
	try {
		await daemon.ping({ timeoutMs });
	} finally {
		daemon.close();
	}
}
