/** What `sluice doctor` checks of endpoints with workers in containers: that the daemon answers. */
import { request } from "node:http";
import { ok, problem } from "../../core/finding.ts";
import type { Finding } from "../../core/finding.ts";
import type { EndpointToCheck } from "../definition.ts";

/** How long the daemon may take to answer, ms. */
const DOCKER_MS = 3000;

export async function findings(
	endpoints: readonly EndpointToCheck[],
	env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
	const address = env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
	const url = address.startsWith("unix://")
		? undefined
		: new URL(address.replace(/^tcp:/, "http:"));
	const place = url
		? { host: url.hostname, port: url.port }
		: { socketPath: address.slice("unix://".length) };
	const fault = await new Promise<string | undefined>((done) => {
		const ping = request({ ...place, path: "/_ping", timeout: DOCKER_MS }, (answer) => {
			answer.resume();
			done(answer.statusCode === 200 ? undefined : `HTTP ${answer.statusCode}`);
		});
		ping.on("timeout", () => ping.destroy(new Error("no answer")));
		ping.on("error", (error) => done(error.message));
		ping.end();
	});
	if (fault === undefined) return [ok("docker", `The Docker daemon at ${address} answers.`)];
	const ids = endpoints.map(({ id }) => `'${id}'`).join(", ");
	return [
		problem(
			"docker",
			`The Docker daemon at ${address} does not answer (${fault}); ${ids} cannot start workers.`,
			"Start Docker, give this user access to its socket, or set DOCKER_HOST.",
		),
	];
}
