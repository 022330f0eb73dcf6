import { expect, it } from "vitest";
import { sourceOf, type ManagementRules } from "./rules.ts";

const listed = ["/srv/models/", "hf-cache"];

it.each<[string, ManagementRules, string | undefined]>([
	["new", { launcher: { type: "docker" } }, undefined],
	["new", { launcher: { type: "slurm" }, volumes: ["*"] }, undefined],
	["models", { launcher: { type: "docker" }, volumes: listed }, "/srv/models/"],
	["/srv/models/", { launcher: { type: "docker" }, volumes: listed }, "/srv/models/"],
	["hf-cache", { launcher: { type: "kubernetes" }, volumes: listed }, "hf-cache"],
	["new", { launcher: { type: "docker" }, volumes: [...listed, "*"] }, undefined],
])("the volume %j of %j is %j", (name, rules, source) => {
	expect(sourceOf(name, rules)).toEqual({ ok: true, source });
});

it.each<[string, ManagementRules, RegExp]>([
	[
		"new",
		{ launcher: { type: "docker" }, volumes: listed },
		/^must be models or hf-cache: management\.volumes allows others/,
	],
	["*", { launcher: { type: "docker" }, volumes: listed }, /^must be models/],
	["new", { launcher: { type: "docker" }, volumes: [] }, /^cannot be used: management\.volumes/],
	["new", { launcher: { type: "kubernetes" } }, /^cannot be used: a volume is a claim that exists/],
	[
		"new",
		{ launcher: { type: "kubernetes" }, volumes: [...listed, "*"] },
		/^must be models or hf-cache: a volume is a claim/,
	],
	["new", {}, /set management\.launcher/],
])("the volume %j of %j is refused: %s", (name, rules, message) => {
	expect(sourceOf(name, rules)).toEqual({ ok: false, message: expect.stringMatching(message) });
});
