/** Workers for tests of the Docker launcher, in a folder that their containers have too. */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import type { DockerSettings } from "../../src/modules/docker/settings.ts";
import { IMAGE } from "../support/docker.ts";

export const root = mkdtempSync(join(tmpdir(), "sluice-docker-"));
export const logDir = join(root, "logs");
export const serviceId = `test-${randomUUID()}`;

export const ENV: Record<string, string> = { DOCKER_HOST: process.env["DOCKER_HOST"] ?? "" };
export const folder = ({ workerId }: WorkerSpec): string => join(root, workerId);

export type Spec = WorkerSpec<DockerSettings>;

export function withSettings(spec: Spec, change: Partial<DockerSettings>): Spec {
	return { ...spec, settings: { ...spec.settings, ...change } };
}

export function script(text: string, change: Partial<Spec> = {}): Spec {
	const workerId = `worker-${randomUUID()}`;
	mkdirSync(join(root, workerId), { recursive: true });
	const settings: DockerSettings = {
		type: "docker",
		image: IMAGE,
		command: ["sh", "-c", text],
		volumes: [`${root}:${root}`],
		network: "none",
	};
	return {
		workerId,
		endpoint: "sample",
		env: { PATH: "/bin", PIDS: join(root, workerId) },
		serviceId,
		settings,
		// Not loopback: the network `none` does not reach it.
		url: "http://sluice.example:9",
		gpus: [],
		gpuCount: 0,
		workersMax: 3,
		stopGraceMs: 5000,
		...change,
	};
}
