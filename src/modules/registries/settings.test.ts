/** `registries` in `sluice.yaml` (D45). */
import { describe, expect, it } from "vitest";
import { config, problems } from "../../../test/support/load-config.ts";
import type { RegistrySettings } from "./settings.ts";

const file = (registries: object): Record<string, string> => ({
	"/srv/sluice.yaml": JSON.stringify({ registries }),
});

describe("D45: registries", () => {
	it("take passwords from variables and files, which stay hidden", () => {
		const files = {
			...file({
				"registry.example.com:5000": { username: "ci", passwordEnv: "REGISTRY_PASSWORD" },
				"https://index.docker.io/v1/": { username: "me", passwordFile: "secrets/hub" },
			}),
			"/srv/secrets/hub": "from the file\n",
		};
		const { modules, secretVariables } = config({ files, env: { REGISTRY_PASSWORD: "p" } });
		expect([...(modules["registries"] as RegistrySettings)]).toEqual([
			["registry.example.com:5000", { username: "ci", password: "p" }],
			["docker.io", { username: "me", password: "from the file" }],
		]);
		expect(secretVariables).toEqual(["REGISTRY_PASSWORD"]);
	});

	it.each<[string, object, string]>([
		["no password", { username: "a" }, "registries.ghcr.io must have either passwordEnv or"],
		[
			"two passwords",
			{ username: "a", passwordEnv: "A", passwordFile: "a" },
			"registries.ghcr.io must have either passwordEnv or passwordFile.",
		],
		[
			"a variable that is not set",
			{ username: "a", passwordEnv: "NONE" },
			"registries.ghcr.io.passwordEnv: the variable NONE is not set.",
		],
		[
			"a file that is not there",
			{ username: "a", passwordFile: "none" },
			"registries.ghcr.io.passwordFile: cannot read a password from none.",
		],
		["no user", { passwordEnv: "A" }, "registries.ghcr.io.username"],
		["the password itself", { username: "a", password: "b" }, "registries.ghcr.io.password"],
	])("refuse %s", (_, settings, problem) => {
		expect(problems({ files: file({ "ghcr.io": settings }), env: { A: "p" } })).toContainEqual(
			expect.stringContaining(problem),
		);
	});

	it("refuse a registry without a login", () => {
		const files = { "/srv/sluice.yaml": "registries:\n  ghcr.io:\n" };
		expect(problems({ files })).toEqual([expect.stringMatching(/^\S+: registries\.ghcr\.io must be an object/)]);
	});

	it("refuse a name that is no registry, and anything but a mapping", () => {
		const settings = { username: "a", passwordEnv: "A" };
		expect(problems({ files: file({ "ghcr.io:x": settings }), env: { A: "p" } })).toEqual([
			"/srv/sluice.yaml: registries.ghcr.io:x must be the host of a registry, perhaps with its port, " +
				"such as ghcr.io or registry.example.com:5000.",
		]);
		expect(problems({ files: file(["a"]) })).toHaveLength(1);
	});
});
