import { expect, it } from "vitest";
import { sourceOf, type VolumeRules } from "./volume-source.ts";

const listed = ["/srv/models/", "hf-cache"];

it.each<[string, VolumeRules, string | undefined]>([
	["new", { launcher: "docker" }, undefined],
	["new", { launcher: "slurm", volumes: ["*"] }, undefined],
	["models", { launcher: "docker", volumes: listed }, "/srv/models/"],
	["/srv/models/", { launcher: "docker", volumes: listed }, "/srv/models/"],
	["hf-cache", { launcher: "kubernetes", volumes: listed }, "hf-cache"],
	["new", { launcher: "docker", volumes: [...listed, "*"] }, undefined],
])("the volume %j of %j is %j", (name, rules, source) => {
	expect(sourceOf(name, rules)).toEqual({ ok: true, source });
});

it.each<[string, VolumeRules, RegExp]>([
	["new", { launcher: "docker", volumes: listed }, /^must be models or hf-cache: management\.volumes allows others/],
	["*", { launcher: "docker", volumes: listed }, /^must be models/],
	["new", { launcher: "docker", volumes: [] }, /^cannot be used: management\.volumes/],
	["new", { launcher: "kubernetes" }, /^cannot be used: a volume is a claim that exists/],
	["new", { launcher: "kubernetes", volumes: [...listed, "*"] }, /^must be models or hf-cache: a volume is a claim/],
	["new", {}, /set management\.launcher/],
])("the volume %j of %j is refused: %s", (name, rules, message) => {
	expect(sourceOf(name, rules)).toEqual({ ok: false, message: expect.stringMatching(message) });
});
