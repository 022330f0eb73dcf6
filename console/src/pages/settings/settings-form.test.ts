import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { ENDPOINT_SCHEMA, readEndpoint } from "../../../../src/kernel/launchers/endpoint-settings.ts";
import { durationIn, durationText } from "../../text/duration-text.ts";
import { endpointYaml } from "../../values/endpoint-yaml.ts";
import {
	defaultOf,
	faultIn,
	fieldsOf,
	type FormField,
	type LauncherChoice,
	launcherFields,
	launcherFrom,
	launchersIn,
	limitFields,
	nameOf,
	patchOf,
	settingsIn,
} from "./settings-form.ts";
import type { Setting } from "../../values/setting-kinds.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

const SETTINGS = settingsIn({
	paths: {
		"/v1/endpoints/{endpoint}": {
			patch: { requestBody: { content: { "application/json": { schema: ENDPOINT_SCHEMA } } } },
		},
	},
});
const PRESENT = {
	name: "Thumbnails",
	workersMax: 3,
	idleTimeout: 90,
	scalerType: "QUEUE_DELAY",
	retention: { run: 1_800_000, runsync: 60_000, records: 1 },
	webhooks: { schedule: [10_000, 3_600_000] },
};
const FIELDS = fieldsOf(SETTINGS, PRESENT);
const CHOICES = launchersIn(SETTINGS);
const of = (type: string): LauncherChoice => CHOICES.find((choice) => choice.type === type)!;
const named = (fields: readonly FormField[], name: string): FormField => fields.find((each) => nameOf(each) === name)!;
const field = (name: string): FormField => named(FIELDS, name);
const { faults } = T.settings;

describe("the settings form", () => {
	it("has a field for every setting of the schema but those with a form of their own", () => {
		const names = new Set(FIELDS.map(({ path }) => path[0]!));
		const expected = Object.entries<Setting>(ENDPOINT_SCHEMA.properties as unknown as Record<string, Setting>).filter(
			([name, { writeOnly }]) => !writeOnly && !["env", "launcher", "limits"].includes(name),
		);
		expect([...names].toSorted()).toEqual(expected.map(([name]) => name).toSorted());
		const kinds = ["retention.run", "scalerType", "name", "workersMax", "webhooks.schedule"];
		expect(kinds.map((name) => field(name).kind)).toEqual(["duration", "choice", "text", "number", "waits"]);
	});

	it("an object that needs some of its members is one field, which may be empty", () => {
		expect([field("sleep").kind, field("sleep").required]).toEqual(["json", false]);
		const sleep = { command: ["a"], wakeCommand: ["b"] };
		expect(patchOf(FIELDS, { sleep: JSON.stringify(sleep) })).toEqual({ sleep });
		const present = fieldsOf(SETTINGS, { ...PRESENT, sleep });
		expect(patchOf(present, { sleep: "" })).toEqual({ sleep: null });
	});

	it("durations are shown and read in units that people use, exactly", () => {
		expect([0, 1, 5001, 90_000, 604_800_000].map(durationText)).toEqual([
			"0 s",
			"1 ms",
			"5 s 1 ms",
			"1 min 30 s",
			"7 d",
		]);
		for (const ms of [0, 1, 5001, 90_000, 86_399_999, 604_800_000]) expect(durationIn(durationText(ms), 1)).toBe(ms);
		expect(["1.5h", "1 h 30 min", "90", "2 days", "7 w", "d", ""].map((text) => durationIn(text, 1000))).toEqual([
			5_400_000,
			5_400_000,
			90_000,
			172_800_000,
			undefined,
			undefined,
			undefined,
		]);
		expect([field("idleTimeout").value, field("retention.run").value]).toEqual(["1 min 30 s", "30 min"]);
		expect(field("webhooks.schedule").value).toBe("10 s, 1 h");
		expect(defaultOf(field("retention.records"))).toBe("7 d");
	});

	it("knows a bad value by the schema's bounds", () => {
		expect(faultIn(field("workersMax"), "1001")).toBe(faults.bounds("0", "1,000"));
		expect(faultIn(field("workersMax"), "1.5")).toBe(faults.whole);
		expect(faultIn(field("idleTimeout"), "2 h")).toBe(faults.bounds("1 s", "1 h"));
		expect(faultIn(field("idleTimeout"), "1.5 s")).toBe(faults.duration);
		expect(faultIn(field("executionTimeoutMs"), "5 s")).toBe(faults.bounds("5 s 1 ms", ""));
		expect(faultIn(field("webhooks.schedule"), "10 s, soon")).toBe(faults.waits);
		expect(faultIn(field("name"), "x".repeat(192))).toBe(faults.long(191));
		for (const text of ["1000", ""]) expect(faultIn(field("workersMax"), text)).toBeUndefined();
	});

	it("D39: returns only what was changed, and null for what was emptied", () => {
		expect(
			patchOf(FIELDS, {
				workersMax: "5",
				name: "",
				idleTimeout: "2 min",
				"retention.run": "1 s",
				scalerType: "QUEUE_DELAY",
				"webhooks.schedule": "long",
			}),
		).toEqual({
			workersMax: 5,
			name: null,
			idleTimeout: 120,
			retention: { run: 1000 },
			webhooks: { schedule: "long" },
		});
		expect(patchOf(FIELDS, {})).toEqual({});
	});

	it("D28, D39: the input of a warm-up is JSON, which may be replaced or emptied", () => {
		const fields = fieldsOf(SETTINGS, { warmup: { input: { prompt: "a", seed: 1 } } });
		expect(faultIn(field("warmup.input"), "")).toBeUndefined();
		expect(faultIn(field("warmup.input"), "hello")).toBe(faults.json);
		expect(patchOf(fields, { "warmup.input": '{"prompt": "b"}' })).toEqual({
			warmup: { input: { prompt: "b", seed: null } },
		});
		expect(patchOf(fields, { "warmup.input": "" })).toEqual({ warmup: { input: null } });
	});

	it("numbers have separators where they are shown, and may be typed with and without", () => {
		const limits = limitFields(SETTINGS["limits"], { storedMb: 20_480, run: { per10s: 12_000 } });
		const [stored, per10s] = [named(limits, "limits.storedMb"), named(limits, "limits.run.per10s")];
		expect([stored.value, defaultOf(stored), per10s.value]).toEqual(["20,480", "10,240", "12,000"]);
		expect(patchOf(limits, { "limits.storedMb": "20480", "limits.run.per10s": " 12000" })).toEqual({});
		expect(patchOf(limits, { "limits.storedMb": "1,048,576", "limits.run.per10s": "13,000" })).toEqual({
			limits: { storedMb: 1_048_576, run: { per10s: 13_000 } },
		});
		const bad = ["1,00", "1,0000", "1.5"].map((text) => faultIn(field("workersMax"), text));
		expect(bad).toEqual(Array(3).fill(faults.whole));
		const docker = launcherFields(of("docker"), { gpus: [0, 1], cpus: 1.25 });
		expect([named(docker, "launcher.gpus").value, named(docker, "launcher.cpus").value]).toEqual(["0, 1", "1.25"]);
		const typed = { "launcher.gpus": "0,100", "launcher.cpus": "0.125" };
		expect(patchOf(docker, typed)).toEqual({ launcher: { gpus: ["0", "100"], cpus: 0.125 } });
	});

	it("limits are numbers, off, or empty for their default", () => {
		const limits = limitFields(SETTINGS["limits"], { run: { per10s: "off" } });
		expect(named(limits, "limits.run.per10s").value).toBe("off");
		expect(defaultOf(named(limits, "limits.run.concurrent"))).toBe("200");
		expect(
			patchOf(limits, {
				"limits.run.per10s": "",
				"limits.run.concurrent": "5",
				"limits.queue": "off",
			}),
		).toEqual({ limits: { run: { per10s: null, concurrent: 5 }, queue: "off" } });
	});
});

describe("the forms of launchers", () => {
	it("every launcher has fields for all its settings, only a Pod's template is JSON", () => {
		expect(CHOICES.map(({ type, managed }) => [type, managed])).toEqual([
			["process", true],
			["docker", true],
			["kubernetes", true],
			["slurm", true],
			["external", false],
		]);
		const fields = CHOICES.flatMap((choice) => launcherFields(choice, {}));
		expect(fields.filter(({ kind }) => kind === "json").map(nameOf)).toEqual(["launcher.podTemplate"]);
		for (const choice of CHOICES) {
			const { type: _, ...settings } = choice.schema.properties!;
			const names = new Set(launcherFields(choice, {}).map(({ path }) => path[1]));
			expect([...names]).toEqual(Object.keys(settings));
		}
	});

	it("send what was typed: a command in words, lists by line, empty settings not at all", () => {
		const docker = launcherFields(of("docker"), {});
		expect(
			launcherFrom(of("docker"), docker, {
				"launcher.image": "a:1",
				"launcher.command": "python 'my handler.py'",
				"launcher.volumes": "models:/runpod-volume\n/data:/data:ro\n",
				"launcher.gpus": "0, 1",
				"launcher.hosts": "all",
				"launcher.memory": "8g",
				"launcher.prePull": "false",
				"launcher.gpu.memoryMinGb": "24",
				"launcher.cpus": "",
			}),
		).toEqual({
			type: "docker",
			image: "a:1",
			command: ["python", "my handler.py"],
			volumes: ["models:/runpod-volume", "/data:/data:ro"],
			gpus: ["0", "1"],
			hosts: "all",
			memory: "8g",
			prePull: false,
			gpu: { memoryMinGb: 24 },
		});
		const pods = launcherFields(of("kubernetes"), {});
		expect(
			launcherFrom(of("kubernetes"), pods, {
				"launcher.image": "a:1",
				"launcher.resources.requests": "cpu: 500m\nmemory=8Gi",
			}),
		).toEqual({
			type: "kubernetes",
			image: "a:1",
			resources: { requests: { cpu: "500m", memory: "8Gi" } },
		});
	});

	it("D39: a changed launcher is patched by its members; a command survives unchanged", () => {
		const present = { type: "process", command: ["node", "my worker.js", 'say "hi"'], cwd: "/a" };
		const fields = launcherFields(of("process"), present);
		const { value } = named(fields, "launcher.command");
		expect(value).toBe(`node "my worker.js" 'say "hi"'`);
		expect(launcherFrom(of("process"), fields, {})).toEqual(present);
		expect(patchOf(fields, { "launcher.command": value, "launcher.cwd": "" })).toEqual({
			launcher: { cwd: null },
		});
		expect(faultIn(named(fields, "launcher.command"), " ")).toBe(faults.required("node worker.js"));
	});
});

describe("an endpoint for sluice.yaml", () => {
	it("is read back as the same settings, without defaults", () => {
		const given = {
			name: "No: 1",
			workersMax: 7,
			launcher: { type: "docker", image: "a:1", command: ["python", "-u", "on"], gpus: "all" },
			limits: { run: { per10s: "off" } },
			retention: { run: 1000 },
		};
		const found = readEndpoint("my-endpoint", given);
		if (!found.ok) throw new Error("no endpoint");
		const endpoint = { ...found.endpoint, env: ["MODEL"] } as unknown as Endpoint;
		const text = endpointYaml(endpoint, SETTINGS);
		const { endpoints } = parse(text) as { endpoints: Record<string, object> };
		expect(endpoints["my-endpoint"]).toEqual({ ...given, env: { MODEL: "" } });
		expect(readEndpoint("my-endpoint", endpoints["my-endpoint"])).toMatchObject({ ok: true });
	});

	it("one with defaults only has no settings", () => {
		const found = readEndpoint("plain", {});
		if (!found.ok) throw new Error("no endpoint");
		const endpoint = { ...found.endpoint, env: [] } as unknown as Endpoint;
		expect(parse(endpointYaml(endpoint, SETTINGS))).toEqual({ endpoints: { plain: {} } });
	});
});
