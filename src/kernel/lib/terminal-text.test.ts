/** Foreign text on a terminal. */
import { describe, expect, it } from "vitest";
import { printable, printableLines } from "./terminal-text.ts";

const ESC = "\u001b";

describe("D36: escape sequences", () => {
	it.each([
		["colours", `${ESC}[1;31mred${ESC}[0m`, "red"],
		["a cleared screen", `a${ESC}[2J${ESC}[Hb`, "ab"],
		["a window title", `a${ESC}]0;title\u0007b`, "ab"],
		["a link", `${ESC}]8;;http://evil${ESC}\\text${ESC}]8;;${ESC}\\`, "text"],
		["a clipboard write without an end", `a${ESC}]52;c;aGk=`, "a"],
		["a device request", `a${ESC}P$q"p${ESC}\\b`, "ab"],
		["a reset of the terminal", `a${ESC}cb`, "ab"],
		["the single-character form", "a\u009b2Jb", "ab"],
		["an incomplete one", `a${ESC}`, "a?"],
	])("%s", (_, text, shown) => {
		expect(printableLines(text)).toBe(shown);
	});

	it("colours stay on demand, and end with their line", () => {
		expect(printableLines(`${ESC}[31mone${ESC}[2J\ntwo`, { colours: true })).toBe(`${ESC}[31mone${ESC}[0m\ntwo`);
	});

	it("other control characters become visible; lines stay", () => {
		expect(printableLines("one\r\ntwo\rthree\tfour\u0000\u202e")).toBe("one\ntwo?three    four??");
		expect(printable("one\ntwo")).toBe("one?two");
	});
});
