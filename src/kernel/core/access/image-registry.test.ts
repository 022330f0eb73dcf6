import { describe, expect, it } from "vitest";
import { imageName, registryName } from "./image-registry.ts";

const DIGEST = `sha256:${"0a".repeat(32)}`;

describe("imageName", () => {
	it.each([
		["worker", "docker.io", "worker", "latest"],
		["team/worker:1.2", "docker.io", "team/worker", "1.2"],
		["docker.io/team/worker", "docker.io", "docker.io/team/worker", "latest"],
		["localhost/worker:1", "localhost", "localhost/worker", "1"],
		["localhost:5000/a/b/worker", "localhost:5000", "localhost:5000/a/b/worker", "latest"],
		["Registry.example.com/w:1", "registry.example.com", "Registry.example.com/w", "1"],
		[`ghcr.io/a/w:1@${DIGEST}`, "ghcr.io", "ghcr.io/a/w", DIGEST],
		["worker:5000", "docker.io", "worker", "5000"],
	])("D45: %s", (text, registry, repository, version) => {
		expect(imageName(text)).toEqual({ registry, repository, version });
	});
});

describe("registryName", () => {
	it.each([
		["https://index.docker.io/v1/", "docker.io"],
		["registry-1.docker.io", "docker.io"],
		["https://GHCR.io", "ghcr.io"],
		["http://127.0.0.1:5000/v2/", "127.0.0.1:5000"],
		[" registry.example.com ", "registry.example.com"],
	])("D45: %s", (text, name) => {
		expect(registryName(text)).toBe(name);
	});
});
