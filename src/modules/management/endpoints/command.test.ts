/** The command of a container as text and as lists. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { argsOf, changedCommand, commandIn } from "./command.ts";

const NONE = { args: "", entrypoint: [], cmd: [] };
const given = { args: "python  -u h.py", entrypoint: [], cmd: ["python", "-u", "h.py"] };

describe("commandIn", () => {
	it.each<[string, object]>([
		["", { entrypoint: [], cmd: [] }],
		["  ", { entrypoint: [], cmd: [] }],
		[" python\t-u\nhandler.py ", { entrypoint: [], cmd: ["python", "-u", "handler.py"] }],
		['{"cmd":["a b",""]}', { entrypoint: [], cmd: ["a b", ""] }],
		[' {"entrypoint":["sh"]} ', { entrypoint: ["sh"], cmd: [] }],
		['{"entrypoint":["sh"],"cmd":["-c","x"]}', { entrypoint: ["sh"], cmd: ["-c", "x"] }],
		["{}", { entrypoint: [], cmd: [] }],
		["{ echo; }", { entrypoint: [], cmd: ["{", "echo;", "}"] }],
		["[a]", { entrypoint: [], cmd: ["[a]"] }],
	])("RunPod v2: %j is %j", (args, command) => {
		expect(commandIn(args)).toEqual(command);
	});

	it.each([
		['{"cmd":"python"}', /lists of texts "entrypoint" and "cmd"/],
		['{"cmd":[1]}', /lists of texts/],
		['{"cmd":["a"],"env":[]}', /must have only/],
		["python 'my handler.py'", /no quotes and backslashes: give the words as the list cmd/],
		['["a"]', /no quotes/],
		["echo a\\", /no quotes and backslashes/],
	])("RunPod v2: %j is refused with a sentence", (args, says) => {
		expect(commandIn(args)).toEqual({ fault: expect.stringMatching(says) });
	});

	it("RunPod v2: the text of two lists means these lists", () => {
		const list = fc.array(fc.string());
		fc.assert(
			fc.property(list, list, (entrypoint, cmd) => {
				expect(commandIn(argsOf({ entrypoint, cmd }))).toEqual({ entrypoint, cmd });
			}),
		);
		expect(argsOf({ entrypoint: [], cmd: ["a"] })).toBe('{"cmd":["a"]}');
	});
});

describe("changedCommand", () => {
	it.each<[string, object, object]>([
		["without members nothing changes, the spelling included", {}, given],
		["read, change, write: all three at once", given, given],
		["lists that are the present ones keep the text", { cmd: given.cmd, entrypoint: [] }, given],
		["text alone replaces both lists", { args: "run" }, { args: "run", entrypoint: [], cmd: ["run"] }],
		["an empty text clears both", { args: "" }, NONE],
		["an empty list clears one", { cmd: [] }, NONE],
		[
			"a list alone keeps the other one",
			{ entrypoint: ["sh"] },
			{ args: '{"entrypoint":["sh"],"cmd":["python","-u","h.py"]}', entrypoint: ["sh"], cmd: given.cmd },
		],
		[
			"one list beside a text that means it",
			{ args: "a b", cmd: ["a", "b"] },
			{ ...NONE, args: "a b", cmd: ["a", "b"] },
		],
	])("RunPod v2: %s", (_, change, after) => {
		expect(changedCommand(given, change)).toEqual(after);
	});

	it.each([{ cmd: ["other"] }, { entrypoint: ["sh"] }, { cmd: [] }])(
		"RunPod v2: a text beside %j that differs is refused",
		(lists) => {
			expect(changedCommand(given, { args: given.args, ...lists })).toEqual({
				fault: expect.stringContaining("must mean the same"),
			});
		},
	);
});
