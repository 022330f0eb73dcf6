/** The guides of HTTP workers have what the reader of mappings and the presets have, and no more. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { PRESETS, resolveMapping } from "../../../packages/worker/src/http/mapping-index.ts";
import { readEndpoint } from "../../kernel/launchers/endpoint-settings.ts";

const guide = (name: string): string =>
	readFileSync(new URL(`../../../docs/guides/${name}.md`, import.meta.url), "utf8");

const CALL = ["method", "path", "query", "headers", "body", "form", "text"];

/** A member that no object of the mapping has: its fault names those that the object has. */
const UNKNOWN = { unknown: 1 };

/** Has every object that a mapping may have. */
const ALL_OBJECTS = {
	...UNKNOWN,
	port: 1,
	ready: { ...UNKNOWN, path: "/", where: UNKNOWN },
	request: { ...UNKNOWN, files: [UNKNOWN], uploads: [UNKNOWN] },
	answer: { ...UNKNOWN, files: { ...UNKNOWN, where: UNKNOWN } },
	failed: [UNKNOWN],
	stream: UNKNOWN,
	openai: UNKNOWN,
	async: {
		...UNKNOWN,
		existing: { ...UNKNOWN, checks: [UNKNOWN], submit: "", discard: UNKNOWN },
		result: UNKNOWN,
	},
	progress: UNKNOWN,
	cancel: { ...UNKNOWN, path: "/" },
	errors: UNKNOWN,
	timeouts: UNKNOWN,
	sleep: { ...UNKNOWN, each: UNKNOWN, until: UNKNOWN },
	wake: { ...UNKNOWN, each: UNKNOWN, until: UNKNOWN },
};

/** Paths of the members that the reader knows, such as `ready.where.at` and `failed[].in`. */
function membersOfReader(): string[] {
	const read = resolveMapping(ALL_OBJECTS);
	const faults = read.ok ? [] : read.faults;
	const names = new Map<string, string[]>();
	for (const { path, message } of faults) {
		const known = /^is unknown\. Expected one of (.+)\.$/.exec(message)?.[1];
		if (known === undefined) continue;
		const object = path
			.replaceAll("[0]", "[]")
			.replace(/^http\./, "")
			.replace(/\.?unknown$/, "");
		names.set(object, known.split(", "));
	}
	return [...names]
		.flatMap(([object, members]) => members.map((name) => (object === "" ? name : `${object}.${name}`)))
		.filter((path) => !names.has(path) && !names.has(`${path}[]`));
}

/** Those of the table: `a.b`, `.c` beside it, `a: { b, c }`, `a: [{ b }]`, and objects that are calls. */
function membersOfTable(text: string): string[] {
	const cells = [...text.matchAll(/^\| (`.+?) \|/gm)].map(([, cell]) => cell!);
	let beside = "";
	return cells.flatMap((cell) =>
		[...cell.matchAll(/`([^`:]+)(?:: ([^`]+))?`(, (?:a call|calls))?/g)].flatMap(([, name = "", inner = "", call]) => {
			const path = name.startsWith(".") ? beside + name : name;
			beside = path.replace(/\.?\w+$/, "");
			const object = inner.startsWith("[") ? `${path}[]` : path;
			const members = /^\[?\{ ([a-zA-Z]+(?:, [a-zA-Z]+)*) \}\]?$/.exec(inner)?.[1]?.split(", ") ?? [];
			const all = [...members, ...(call ? CALL : [])];
			return all.length === 0 ? [path] : all.map((each) => `${object}.${each}`);
		}),
	);
}

it("the table of the guide has each member of the mapping once", () => {
	const text = guide("http-workers")
		.split("\n## ")
		.find((part) => part.startsWith("The mapping"));
	expect(membersOfTable(text!).toSorted()).toEqual(["preset", ...membersOfReader()].toSorted());
});

describe("the guide of presets", () => {
	const sections = new Map(
		guide("http-presets")
			.split("\n## ")
			.slice(1)
			.map((part) => [part.slice(0, part.indexOf("\n")), part]),
	);

	it("has a section for each", () => {
		expect([...sections.keys()]).toEqual(Object.keys(PRESETS));
	});

	it.each(Object.entries(PRESETS))(
		"%s: an endpoint that can be set, its call, and what it cannot do",
		(name, preset) => {
			const text = sections.get(name)!;
			const [[id, settings]] = Object.entries(parse(/```yaml\n(.+?)```/s.exec(text)![1]!).endpoints) as [[string, any]];
			expect(settings.http.preset).toBe(name);
			expect(readEndpoint(id, settings)).toMatchObject({ ok: true });
			const port = Number(preset.settings["port"] ?? 8000);
			expect(text).toContain(`\nsluice connect ${name} http://127.0.0.1:${port} --endpoint ${id}\n`);
			expect(text).toContain(`\nsluice jobs submit ${id} `);
			expect(() => JSON.parse(/--input '(.+)'/.exec(text)![1]!)).not.toThrow();
			expect(text).toContain("\nWhat it cannot do: ");
		},
	);
});
