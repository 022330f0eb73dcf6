/** `sluice doctor` check of endpoints with container workers: whether the daemon responds. */
import { ok, problem } from "../../core/finding.ts";
import type { Finding } from "../../core/finding.ts";
import type { EndpointToCheck } from "../definition.ts";
import type { Env } from "./connection.ts";
import { dockerDaemon } from "./daemon.ts";

/** Response timeout, ms. */
const DOCKER_MS = 3000;

export async function findings(
	endpoints: readonly EndpointToCheck[],
	env: Env,
): Promise<Finding[]> {
	let daemon = env["DOCKER_HOST"] ?? "DOCKER_HOST";
	try {
		const { address, ping } = dockerDaemon(env);
		daemon = env["DOCKER_HOST"] ?? address;
		await ping({ timeoutMs: DOCKER_MS });
		return [ok("docker", `The Docker daemon at ${daemon} answers.`)];
	} catch (error) {
		const { name, message } = error as Error;
		const fault = name === "AbortError" ? "no answer" : message;
		const ids = endpoints.map(({ id }) => `'${id}'`).join(", ");
		return [
			problem(
				"docker",
				`The Docker daemon at ${daemon} does not answer (${fault}); ${ids} cannot start workers.`,
				"Start Docker, give this user access to its socket, or set DOCKER_HOST.",
			),
		];
	}
}
