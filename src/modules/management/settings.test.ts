/** `management` in `sluice.yaml`, and ids of endpoints that it may not have (D49). */
import { describe, expect, it } from "vitest";
import { config, problems } from "../../../test/support/load-config.ts";
import { allowsImage, type ManagementRules } from "./rules.ts";

const file = (management: object, endpoints: object = {}): { files: Record<string, string> } => ({
	files: { "/srv/sluice.yaml": JSON.stringify({ management, endpoints }) },
});

const rules = (management: object) => config(file(management)).modules["management"] as ManagementRules;

describe("D49: management", () => {
	it("names a launcher by its type, or with settings for all new endpoints", () => {
		expect(rules({ launcher: "docker" }).launcher).toEqual({
			type: "docker",
			pullPolicy: "missing",
		});
		const given = rules({ launcher: { type: "slurm", sharedDir: "work" }, images: ["a/*"] });
		expect(given).toMatchObject({ images: ["a/*"], launcher: { type: "slurm", sharedDir: "/srv/work" } });
		expect(rules({})).toEqual({});
	});

	it.each<[string, object, string]>([
		["the process launcher", { launcher: "process" }, "management.launcher must be docker, kubernetes, slurm, or"],
		["external workers", { launcher: { type: "external" } }, "management.launcher.type must be docker"],
		["Slurm without its folder", { launcher: "slurm" }, "management.launcher.sharedDir is missing"],
		["an unknown setting", { launcher: { type: "docker", foo: 1 } }, "management.launcher.foo is unknown"],
		["a text of images", { images: "a/*" }, "management.images must be a list of images"],
		["an unknown member", { image: [] }, "management.image is unknown"],
	])("is refused with %s", (_, management, sentence) => {
		expect(problems(file(management))).toEqual([expect.stringContaining(sentence)]);
	});

	it("a reserved id is refused, with one to use", () => {
		expect(problems(file({}, { pods: {} }))).toEqual([
			"/srv/sluice.yaml: endpoints.pods must not be pods: /v2/pods is a path of the management API. " +
				"Use another id, such as pods-1.",
		]);
	});
});

describe("allowsImage", () => {
	it.each<[patterns: string[] | undefined, image: string, allowed: boolean]>([
		[undefined, "a:1", true],
		[[], "a:1", false],
		[["a:1"], "a:1", true],
		[["a:1"], "a:12", false],
		[["registry.example/*"], "registry.example/a:1", true],
		[["registry.example/*"], "registry.example.evil/a:1", false],
		[["*:1"], "a:1", true],
		[["a*b*c"], "aXbYbZc", true],
		[["a*b*c"], "aXcYc", false],
		[["ab*bc"], "abc", false],
		[["a.c"], "abc", false],
		[["x", "*"], "anything", true],
	])("D49: of %j, %s: %s", (images, image, allowed) => {
		expect(allowsImage({ images }, image)).toBe(allowed);
	});
});
