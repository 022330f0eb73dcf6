/** Sentences for failed pulls, from what Docker 20 and 28 and registries say. */
import { describe, expect, it } from "vitest";
import { pullFault } from "./faults.ts";

const image = "registry.example.com/w:1";
const of = (text: string, more: object = {}): string => pullFault({ image, text, ...more });

describe("D45: pullFault", () => {
	it.each([
		"manifest for registry.example.com/w:1 not found: manifest unknown: manifest unknown",
		"repository registry.example.com/w not found: name unknown: repository name not known to registry",
		"failed to resolve reference: registry.example.com/w:1: not found: manifest unknown",
	])("no such image: %s", (text) => {
		expect(of(text)).toBe(
			"there is no image registry.example.com/w:1 in the registry registry.example.com; " +
				`check its name and its tag (${text})`,
		);
	});

	it.each([
		"Head http://registry.example.com/v2/w/manifests/1: no basic auth credentials",
		"pull access denied for registry.example.com/w, repository does not exist or may require " +
			"'docker login': denied: requested access to the resource is denied",
		"unauthorized: authentication required",
	])("no access: %s", (text) => {
		expect(of(text)).toBe(
			"the registry registry.example.com refuses image registry.example.com/w:1 without " +
				"credentials, or there is no such image; to set them: sluice registries login " +
				"registry.example.com",
		);
		expect(of(text, { username: "ci" })).toBe(
			"the registry registry.example.com refuses image registry.example.com/w:1 to user ci: " +
				"wrong password, or no access to this image; to replace them: sluice registries login " +
				"registry.example.com",
		);
		expect(of(text, { username: "ci", login: "3f9c2a17be" })).toBe(
			"the registry registry.example.com refuses image registry.example.com/w:1 to the login 3f9c2a17be of " +
				"launcher.registry: wrong password, or no access to this image; POST /v2/registries makes another login",
		);
	});

	it.each([
		'Get "https://registry.example.com/v2/": dial tcp: lookup registry.example.com: no such host',
		'Get "https://registry.example.com/v2/": dial tcp 192.0.2.1:443: connect: connection refused',
		'Get "https://registry.example.com/v2/": net/http: request canceled while waiting for ' +
			"connection (Client.Timeout exceeded while awaiting headers)",
		"received unexpected HTTP status: 503 Service Unavailable",
		"unexpected EOF",
	])("unreachable: %s", (text) => {
		expect(of(text, { where: " on rig1" })).toBe(
			`the registry registry.example.com cannot be reached by Docker on rig1 (${text})`,
		);
	});

	it("a full disk", () => {
		const text =
			"failed to register layer: Error processing tar file(exit status 1): write /random: no space left on device";
		expect(of(text, { where: " on rig1" })).toMatch(
			/^the disk of Docker on rig1 is full: there is no room for image registry\.example\.com\/w:1; '/,
		);
	});

	it("too many pulls, with the advice that helps", () => {
		const text = "toomanyrequests: You have reached your pull rate limit.";
		expect(pullFault({ image: "worker", text })).toBe(
			"the registry docker.io allows no more pulls for now; with credentials it may allow more: " +
				`sluice registries login docker.io (${text})`,
		);
		expect(pullFault({ image: "worker", text, username: "ci" })).toBe(
			`the registry docker.io allows no more pulls for now (${text})`,
		);
	});

	it("plain HTTP, a certificate, a processor", () => {
		expect(of("http: server gave HTTP response to HTTPS client")).toContain(
			'the registry registry.example.com speaks plain HTTP; add it to "insecure-registries"',
		);
		expect(of("tls: failed to verify certificate: x509: signed by unknown authority")).toContain(
			"put its CA into /etc/docker/certs.d/registry.example.com/ca.crt",
		);
		expect(of("no matching manifest for linux/arm64/v8 in the manifest list entries")).toContain(
			"is not made for the processor of this host",
		);
	});

	it("anything else, in Docker's words", () => {
		expect(of("invalid reference format\n")).toBe(
			"image registry.example.com/w:1 cannot be pulled: invalid reference format",
		);
	});
});
