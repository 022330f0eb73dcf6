/** What is shown of failed pulls, from what Docker 20 and 28 and registries say. */
import { describe, expect, it } from "vitest";
import { pullFault } from "./pull-texts.ts";

const image = "registry.example.com/w:1";
const login = "sluice registries login registry.example.com";

describe("D45: pullFault", () => {
	it.each([
		"Head http://registry.example.com/v2/w/manifests/1: no basic auth credentials",
		"pull access denied for registry.example.com/w, repository does not exist or may require " +
			"'docker login': denied: requested access to the resource is denied",
		"unauthorized: authentication required",
	])("no access: %s", (text) => {
		const begin = `image ${image} cannot be pulled: ${text}; `;
		expect(pullFault({ image, text })).toBe(`${begin}there is no such image, or it needs a login: ${login}`);
		expect(pullFault({ image, text, username: "ci" })).toBe(
			`${begin}user ci has a wrong password, or no access to this image; to replace them: ${login}`,
		);
		expect(pullFault({ image, text, username: "ci", login: "3f9c2a17be" })).toBe(
			`${begin}the login 3f9c2a17be of launcher.registry has a wrong password, or no access to this image`,
		);
	});

	it.each([
		["write /random: no space left on device", "'docker image prune --all' removes unused images"],
		["toomanyrequests: You have reached your pull rate limit.", `a login may pull more: ${login}`],
		["http: server gave HTTP response to HTTPS client", 'add registry.example.com to "insecure-registries" in'],
		[
			"tls: failed to verify certificate: x509: signed by unknown authority",
			"put the registry's CA into /etc/docker/certs.d/registry.example.com/ca.crt",
		],
	])("says what to do: %s", (text, remedy) => {
		const shown = pullFault({ image, text, where: " on rig1" });
		expect(shown.startsWith(`image ${image} cannot be pulled on rig1: ${text}; `), shown).toBe(true);
		expect(shown).toContain(remedy);
	});

	it.each([
		"manifest for registry.example.com/w:1 not found: manifest unknown: manifest unknown",
		"no matching manifest for linux/arm64/v8 in the manifest list entries",
		'Get "https://registry.example.com/v2/": dial tcp: lookup registry.example.com: no such host',
		"received unexpected HTTP status: 503 Service Unavailable",
		"invalid reference format\n",
	])("anything else is said in Docker's words: %s", (text) => {
		expect(pullFault({ image, text })).toBe(`image ${image} cannot be pulled: ${text.trim()}`);
	});
});
