/**
 * `compose.yaml` run by docker-compose: two servers on one PostgreSQL behind nginx. Both are of Debian
 * instead of the images of the registry, which cannot be reached; docker-compose 1.29 of Debian has
 * neither `name` nor `configs` with a content, so the test mounts that content as a file (D34).
 */
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { docker, dockerAt } from "../support/docker.ts";
import { type DockerNetwork, startDockerNetwork } from "../support/docker-network.ts";
import { BASE, buildServiceImage, copyImages, noServiceImage, SERVICE_IMAGE } from "../support/service-image.ts";
import { folder, KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { site, WORKER } from "./site.ts";

const COMPOSE = fileURLToPath(new URL("../../compose.yaml", import.meta.url));
const IMAGES = fileURLToPath(new URL("../support/images", import.meta.url));
const POSTGRES = "sluice-test-postgres:latest";
const NGINX = "sluice-test-nginx:latest";

const missing = noServiceImage ?? noCommand();

function noCommand(): string | undefined {
	if (process.getuid?.() !== 0) return "a Docker daemon with networks of its own needs root";
	for (const program of ["docker-compose", "dockerd", "ip", "iptables", "curl"])
		try {
			execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
		} catch {
			return `${program} is not installed`;
		}
	return undefined;
}

/** The file as docker-compose 1.29 reads it, in a folder of its own. */
function forDebian(path: string): string {
	const { name: _name, configs, ...file } = parse(readFileSync(COMPOSE, "utf8"), { merge: true });
	for (const service of Object.values<any>(file.services)) {
		if (service.build) {
			delete service.build;
			service.image = SERVICE_IMAGE;
		}
		for (const { source, target } of service.configs ?? []) {
			// Compose replaces $$ in a content.
			writeFileSync(join(path, source), configs[source].content.replaceAll("$$", "$"));
			(service.volumes ??= []).push(`${join(path, source)}:${target}:ro`);
		}
		delete service.configs;
	}
	writeFileSync(join(path, "docker-compose.json"), JSON.stringify(file));
	return join(path, "docker-compose.json");
}

describe.skipIf(missing !== undefined)(
	missing === undefined ? "compose.yaml" : `compose.yaml (skipped: ${missing})`,
	() => {
		let network: DockerNetwork;
		beforeAll(async () => {
			await buildServiceImage();
			for (const [name, image] of [
				["postgres", POSTGRES],
				["nginx", NGINX],
			] as const)
				await docker(
					...["build", "--network", "host", "--build-arg", `BASE=${BASE}`, "-t", image],
					...["-f", join(IMAGES, `${name}.Dockerfile`), IMAGES],
				);
			network = await startDockerNetwork();
			await copyImages(network.host, SERVICE_IMAGE, POSTGRES, NGINX);
			return () => network.remove();
		}, 900_000);

		it("D34: two servers work behind the balancer, one alone goes on, and jobs outlive all containers", {
			timeout: 240_000,
		}, async (test) => {
			const place = site(test);
			const room = folder();
			test.onTestFinished(() => room.remove());
			const file = forDebian(room.path);
			const env = {
				...process.env,
				DOCKER_HOST: network.host,
				COMPOSE_PROJECT_NAME: "sluice",
				POSTGRES_IMAGE: POSTGRES,
				NGINX_IMAGE: NGINX,
				POSTGRES_PASSWORD: randomBytes(16).toString("hex"),
				SLUICE_SECRET: randomBytes(32).toString("hex"),
				SLUICE_API_KEY: KEY,
			};
			const compose = async (...args: string[]): Promise<string> =>
				(await promisify(execFile)("docker-compose", ["-f", file, ...args], { env })).stdout;
			test.onTestFinished(async () => void (await compose("down", "--volumes")));

			const url = "http://127.0.0.1:8080";
			const api = async (path: string, body?: object): Promise<any> => {
				const post = body ? ["--json", JSON.stringify(body)] : [];
				const header = ["-H", `Authorization: Bearer ${KEY}`];
				return JSON.parse(await network.run("curl", "-sf", ...header, ...post, url + path));
			};
			const ready = (): Promise<unknown> => until("the balancer reaches a server", () => api("/v1/servers"), 90_000);
			const both = (): Promise<unknown> =>
				until("both servers", async () => (await api("/v1/servers")).servers.length === 2, 90_000);
			const status = async (id: string): Promise<string> => (await api(`/v2/kept/status/${id}`)).status;
			async function attach(): Promise<void> {
				const path = `/v1/endpoints/kept/worker-env?url=${encodeURIComponent(url)}`;
				const answer = await api(path, {});
				place.spawn(network.inside(...WORKER), {
					...answer.env,
					DIARY: join(place.folder.path, "diary"),
				});
			}

			await compose("up", "-d");
			await ready();
			await both();
			await api("/v1/endpoints", { id: "kept", launcher: { type: "external" } });
			await attach();
			const { id: first } = await api("/v2/kept/run", { input: { n: 1 } });
			await until("the first job", async () => (await status(first)) === "COMPLETED");

			const [killed = ""] = (await dockerAt(network.host, "ps", "--quiet", "--filter", "name=sluice-1")).split("\n");
			await dockerAt(network.host, "kill", killed);
			// As clients do: the balancer does not know yet which server was killed, and repeats no POST that it has sent.
			const { id: second } = await until("the other server takes a job", () =>
				api("/v2/kept/run", { input: { n: 2 } }).catch(() => undefined),
			);
			await until("the second job", async () => (await status(second)) === "COMPLETED");

			await compose("down");
			expect(await dockerAt(network.host, "ps", "--all", "--quiet")).toBe("");
			await compose("up", "-d");
			await ready();
			await both();
			expect([await status(first), await status(second)]).toEqual(["COMPLETED", "COMPLETED"]);
		});
	},
);
