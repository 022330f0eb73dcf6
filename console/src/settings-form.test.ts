import { describe, expect, it } from "vitest";
import type { Setting } from "./settings-form.ts";
import {
	faultIn,
	fieldsOf,
	launcherFrom,
	launchersIn,
	nameOf,
	patchOf,
	settingsIn,
} from "./settings-form.ts";
import { ENDPOINT_SCHEMA } from "../../src/endpoint-settings.ts";

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
	scalerType: "QUEUE_DELAY",
	retention: { run: 1_800_000, runsync: 60_000, records: 1 },
	launcher: { type: "process", command: ["node"], cwd: "/a" },
	limits: {},
};
const FIELDS = fieldsOf(SETTINGS, PRESENT);
const WORDS = {
	whole: "whole",
	json: "json",
	bounds: (low?: number, high?: number) => `${low}..${high}`,
	long: (most: number) => `<=${most}`,
};
const field = (name: string): (typeof FIELDS)[number] =>
	FIELDS.find((each) => nameOf(each) === name)!;

describe("the settings form", () => {
	it("has a field for every setting of the schema but the environment and secrets", () => {
		const names = new Set(FIELDS.map(({ path }) => path[0]!));
		const expected = Object.entries<Setting>(
			ENDPOINT_SCHEMA.properties as unknown as Record<string, Setting>,
		).filter(([name, { writeOnly }]) => !writeOnly && name !== "env");
		expect([...names].toSorted()).toEqual(expected.map(([name]) => name).toSorted());
		expect([
			field("retention.run").kind,
			field("scalerType").kind,
			field("launcher").kind,
			field("name").kind,
		]).toEqual(["number", "choice", "json", "text"]);
	});

	it("knows a bad value by the schema's bounds", () => {
		expect(faultIn(field("workersMax"), "1001", WORDS)).toBe("0..1000");
		expect(faultIn(field("workersMax"), "1.5", WORDS)).toBe("whole");
		expect(faultIn(field("launcher"), "{", WORDS)).toBe("json");
		expect(faultIn(field("name"), "x".repeat(192), WORDS)).toBe("<=191");
		expect([
			faultIn(field("workersMax"), "1000", WORDS),
			faultIn(field("workersMax"), "", WORDS),
		]).toEqual([undefined, undefined]);
	});

	it("D39: returns only what was changed, and null for what was emptied", () => {
		expect(
			patchOf(FIELDS, {
				workersMax: "5",
				name: "",
				"retention.run": "1000",
				scalerType: "QUEUE_DELAY",
			}),
		).toEqual({ workersMax: 5, name: null, retention: { run: 1000 } });
		expect(patchOf(FIELDS, {})).toEqual({});
	});

	it("D39: an object replaces another: what is missing becomes null", () => {
		expect(patchOf(FIELDS, { launcher: '{"type":"docker","image":"x"}' })).toEqual({
			launcher: { type: "docker", image: "x", command: null, cwd: null },
		});
	});
});

describe("the launchers of a new endpoint", () => {
	const choices = launchersIn(SETTINGS);
	const of = (type: string): (typeof choices)[number] =>
		choices.find((choice) => choice.type === type)!;

	it("are those of the schema, with the settings that have a title", () => {
		expect(
			choices.map(({ type, managed, fields }) => [type, managed, fields.map(({ name }) => name)]),
		).toEqual([
			["process", true, ["command", "cwd"]],
			["docker", true, ["image", "command"]],
			["kubernetes", true, ["image", "command", "namespace"]],
			[
				"slurm",
				true,
				[
					"command",
					"sharedDir",
					"cwd",
					"partition",
					"account",
					"qos",
					"timeLimit",
					"memory",
					"image",
				],
			],
			["external", false, []],
		]);
		expect(of("process").fields[0]).toEqual({
			name: "command",
			label: "Command",
			hint: "Program and arguments, without a shell.",
			placeholder: "node worker.js",
			required: true,
			kind: "words",
		});
	});

	it("send what was typed: words as a list, empty optional settings not at all", () => {
		const typed = { command: "node 'my worker.js'", cwd: "" };
		expect(launcherFrom(of("process"), typed)).toEqual({
			type: "process",
			command: ["node", "my worker.js"],
		});
		expect(launcherFrom(of("docker"), {}), "the service says what is missing").toEqual({
			type: "docker",
			image: "",
		});
		expect(launcherFrom(of("external"), typed)).toEqual({ type: "external" });
	});
});
