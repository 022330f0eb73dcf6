/** The image of the Dockerfile for tests, on a base that `SLUICE_TEST_IMAGE_BASE` names. */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { noDocker } from "./docker.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The base. */
export const BASE = process.env["SLUICE_TEST_IMAGE_BASE"];

/** Why it cannot be built here; undefined where it can. */
export const noServiceImage: string | undefined =
	noDocker ?? (BASE ? undefined : "SLUICE_TEST_IMAGE_BASE names no image with node");

/** Stays, so that the next build finds its layers. */
export const SERVICE_IMAGE = "sluice-test-service:latest";

/** Builds it; several test files at once build it once. */
export async function buildServiceImage(): Promise<void> {
	const build = ["docker", "build", "--network", "host", "--build-arg", `BASE=${BASE}`];
	const lock = join(tmpdir(), "sluice-test-service.lock");
	await promisify(execFile)("flock", [lock, ...build, "-t", SERVICE_IMAGE, ROOT], {
		maxBuffer: 64 << 20,
	});
}

/** Copies images to the daemon at this address. */
export async function copyImages(host: string, ...images: string[]): Promise<void> {
	const script = 'host=$0; docker save "$@" | docker --host "$host" load';
	await promisify(execFile)("sh", ["-c", script, host, ...images]);
}
