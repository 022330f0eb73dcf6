import { expect, it } from "vitest";
import { sourceOf, type ManagementRules } from "../rules.ts";

const volumes = ["/srv/models", "hf-cache"];

it.each<[string, ManagementRules, string | undefined]>([
	["new", { launcher: { type: "docker" } }, undefined],
	["new", { launcher: { type: "slurm" }, volumes }, undefined],
	["models", { launcher: { type: "docker" }, volumes }, undefined],
	["/srv/models", { launcher: { type: "docker" }, volumes }, "/srv/models"],
	["hf-cache", { launcher: { type: "kubernetes" }, volumes }, "hf-cache"],
])("the volume %j of %j is %j", (name, rules, source) => {
	expect(sourceOf(name, rules)).toEqual({ ok: true, source });
});

it.each<[string, ManagementRules, RegExp]>([
	["new", { launcher: { type: "kubernetes" } }, /^cannot be used: a volume is a claim that exists/],
	["new", { launcher: { type: "kubernetes" }, volumes }, /^must be \/srv\/models or hf-cache: a volume is a claim/],
	["new", {}, /set management\.launcher/],
])("the volume %j of %j is refused: %s", (name, rules, message) => {
	expect(sourceOf(name, rules)).toEqual({ ok: false, message: expect.stringMatching(message) });
});
