/** Lines for a terminal on a page. */
import { describe, expect, it } from "vitest";
import { plainText, spansOf } from "./ansi.ts";

const ESC = "\u001b";

describe("B14: text for a terminal", () => {
	it.each([
		["colour and reset", `a ${ESC}[31mred${ESC}[0m b`, [["a "], ["red", "ansi-red"], [" b"]]],
		["several codes at once", `${ESC}[1;4;92mok`, [["ok", "ansi-green ansi-bold ansi-underline"]]],
		[
			"the end of one style",
			`${ESC}[1;3;34ma${ESC}[22;23mb${ESC}[39mc`,
			[["a", "ansi-blue ansi-bold ansi-italic"], ["b", "ansi-blue"], ["c"]],
		],
		[
			"a colour of 256, true colours, a background",
			`${ESC}[38;5;9ma${ESC}[38;2;1;2;3mb${ESC}[48;5;4mc`,
			[["a", "ansi-red"], ["b"], ["c"]],
		],
		["an empty SGR", `${ESC}[33ma${ESC}[mb`, [["a", "ansi-yellow"], ["b"]]],
		["black and white", `${ESC}[30ma${ESC}[97mb`, [["a", "ansi-dim"], ["b"]]],
	] as [string, string, [string, string?][]][])("%s", (_, line, spans) => {
		const merged = spansOf(line).map(({ text, look }) => [text, look]);
		expect(merged).toEqual(spans.map(([text, look = ""]) => [text, look]));
	});

	it.each([
		["a progress bar shows its last state", " 10%\r 50%\r100%", "100%"],
		["a line that ends in returns", "done\r\r", "done"],
		["a cleared screen and a title", `a${ESC}[2J${ESC}]0;title\u0007b`, "ab"],
		["a link and a clipboard write", `${ESC}]8;;http://x${ESC}\\t${ESC}]52;c;aGk=`, "t"],
		["tabs stay, other controls are shown", "a\tb\u0000\u202e", "a\tb\ufffd\ufffd"],
	])("%s", (_, line, text) => {
		expect(plainText(line)).toBe(text);
	});
});
