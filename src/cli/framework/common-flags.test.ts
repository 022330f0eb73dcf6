/** What `--output` makes of an answer (D36). */
import { afterEach, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { printAnswer } from "./common-flags.ts";
import type { ActionInput } from "./command.ts";
import { yamlText } from "./yaml-text.ts";

afterEach(() => void vi.restoreAllMocks());

function printed(json: unknown, output: string): string {
	const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
	printAnswer({ json, text: "" }, { flags: { output } } as unknown as ActionInput, () => "");
	return write.mock.calls.map(([text]) => String(text)).join("");
}

it.each([
	["an endpoint with variables", { id: "hello", name: "Hello", env: ["A", "B"] }, "hello\n"],
	["a job with a timeline", { id: "01a1", timeline: [{ at: "x", event: "queued" }] }, "01a1\n"],
	["a list", { endpoints: [{ id: "a" }, { id: "b" }], next: null }, "a\nb\n"],
	["a list of registries", { registries: [{ registry: "ghcr.io" }] }, "ghcr.io\n"],
	["an empty list", { jobs: [] }, ""],
	["an answer without names", { removed: 2 }, ""],
])("D36: -o name of %s", (_, json, names) => {
	expect(printed(json, "name")).toBe(names);
});

const FOREIGN = {
	clipboard: "\u009d52;c;ZXZpbA==\u009c",
	lines: `one\ntwo \u009b2J\r\n\t${"long words ".repeat(30)}\u0085`,
	"key\u202e": "a\u2028b\u007f",
	nested: [{ escape: "\u001b[2J", plain: "one\ntwo\n", quoted: '\\u009b "x"' }],
};

it("D36: YAML holds no character that steers a terminal, and parses to the same value", () => {
	const text = printed(FOREIGN, "yaml");
	// oxlint-disable-next-line no-control-regex
	expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
	expect(parse(text)).toEqual(FOREIGN);
	expect(yamlText({ a: "one\ntwo\n", b: "é" })).toBe("a: |\n  one\n  two\nb: é\n");
});
