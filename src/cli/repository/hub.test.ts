/** Members of hub.json and tests.json, as published repositories have them. */
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hubNotes, hubSettings, readHub, readTests, unusedNote } from "./hub.ts";

const HUB = {
	title: "Model server",
	description: "Serves a model.",
	type: "serverless",
	category: "language",
	iconUrl: "https://example.com/a.png",
	config: {
		runsOn: "GPU",
		gpuCount: 2,
		gpuIds: "ADA_24,-NVIDIA GeForce RTX 4090",
		allowedCudaVersions: ["12.9", "12.8"],
		containerDiskInGb: 150,
		presets: [
			{ name: "Small", defaults: { MODEL: "org/small", FAST: true, EXTRA: 1 } },
			{ name: "Large", defaults: { MODEL: "org/large" } },
		],
		env: [
			{ key: "MODEL", input: { name: "Model", type: "huggingface", required: true } },
			{ key: "TOKEN", input: { name: "Token", type: "string", required: true } },
			{ key: "DTYPE", input: { type: "string", options: [{ label: "a", value: "auto" }], default: "auto" } },
			{ key: "FAST", input: { type: "boolean", default: false, trueValue: "on", falseValue: "off" } },
			{ key: "LENGTH", input: { type: "number", default: null } },
			{ key: "FIXED", value: "1" },
		],
	},
};

it("D36: hub.json: env, what it requires, GPUs, and one line for what has no effect", () => {
	const hub = hubSettings(HUB);
	expect(hub).toMatchObject({
		name: "Model server",
		gpus: 2,
		env: { DTYPE: "auto", FAST: "off", FIXED: "1" },
		required: [
			{ key: "MODEL", title: "Model (MODEL), a model on Hugging Face such as Qwen/Qwen3-8B" },
			{ key: "TOKEN", title: "Token (TOKEN)" },
		],
		unset: ["LENGTH"],
	});
	expect(hubNotes(hub)).toEqual([
		"From .runpod/hub.json: DTYPE, FAST, FIXED.",
		"No default; set them if the handler needs them: LENGTH.",
		"Presets of hub.json, one of which --preset takes: Small, Large.",
		"Without effect here: gpuIds ADA_24,-NVIDIA GeForce RTX 4090 (launcher.gpu chooses GPUs on Docker hosts); " +
			"allowedCudaVersions 12.9, 12.8; containerDiskInGb 150.",
	]);
	const many = { ...hub, unset: Array.from({ length: 40 }, (_, index) => `V${index}`) };
	expect(hubNotes(many)[1]).toMatch(/: V0, V1, V2, V3, V4, V5, V6, V7, 32 more\.$/);
});

it("D36: a preset sets variables over the defaults, with the values of booleans", () => {
	const hub = hubSettings(HUB, "Small");
	expect(hub.env).toEqual({ MODEL: "org/small", DTYPE: "auto", FAST: "on", EXTRA: "1", FIXED: "1" });
	expect(hub.required.map(({ key }) => key)).toEqual(["TOKEN"]);
	expect(hub.presets).toEqual([]);
	expect(() => hubSettings(HUB, "Smal")).toThrow(
		/^There is no preset 'Smal'\. The presets of hub\.json: Small, Large\..*Small/,
	);
	expect(() => hubSettings({ config: {} }, "Small")).toThrow("hub.json has no presets.");
});

it("D36: a repository for a load balancing endpoint is refused", () => {
	expect(() => hubSettings({ config: { endpointType: "LB" } })).toThrow(/serves HTTP and takes no jobs/);
	expect(hubSettings({ config: { endpointType: "QB" } }).unused).toEqual([]);
});

it("D36: hub.json and tests.json with commas behind their last members", () => {
	using temporary = mkdtempDisposableSync(join(tmpdir(), "sluice-hub-"));
	const folder = temporary.path;
	mkdirSync(join(folder, ".runpod"));
	const write = (name: string, text: string): void => writeFileSync(join(folder, ".runpod", name), text);
	write("hub.json", '{"title": "a, ]}\\"", "config": {"env": [{"key": "A", "value": "x,}",},],},\n}');
	expect(readHub(folder)).toMatchObject({ name: 'a, ]}"', env: { A: "x,}" } });
	write("tests.json", '{"tests": [{"input": {"a": 1,}},], "config": {"gpuTypeId": "NVIDIA L4", "gpuCount": 1,}}');
	const { tests, unused } = readTests(folder);
	expect(tests).toMatchObject([{ name: "test 1", input: { a: 1 } }]);
	expect(unusedNote(unused)).toEqual(["Without effect here: gpuTypeId NVIDIA L4; gpuCount 1."]);
	write("hub.json", '\ufeff{"title": "a", "constructor": 1}');
	expect(readHub(folder)).toMatchObject({ name: "a", unused: ["constructor 1"] });
	write("hub.json", '{"title": }');
	expect(() => readHub(folder)).toThrow(/hub\.json is not JSON/);
});

it("D36: a variable named as a member of every object is one", () => {
	const { env } = hubSettings({
		config: {
			env: [{ key: "__proto__", value: "a" }],
			presets: [{ name: "p", defaults: { constructor: "b" } }],
		},
	});
	expect(Object.entries(env)).toEqual([["__proto__", "a"]]);
	const preset = hubSettings({ config: { presets: [{ name: "p", defaults: JSON.parse('{"__proto__":"b"}') }] } }, "p");
	expect(Object.entries(preset.env)).toEqual([["__proto__", "b"]]);
});
