import { expect, it } from "vitest";
import { spanText, table } from "./table.ts";

const HEADINGS = ["ID", "STATE", "REASON"];
const ROW = ["01a20dc5-9944", "initializing", "It ended with exit code 3 before it asked for a job."];

it("D36: a table fits its width: the widest cells are cut, the first column never", () => {
	for (const width of [20, 40, 60]) {
		const lines = table(HEADINGS, [ROW], { width }).trimEnd().split("\n");
		expect(lines[1]).toMatch(/^01a20dc5-9944 /);
		expect(lines[1]!.length).toBe(Math.max(width, 13 + 2 + 8 + 2 + 8));
		expect(lines[1]).toMatch(/…$/);
	}
	expect(table(HEADINGS, [ROW], { width: Infinity })).toContain(ROW.join("  "));
});

it.each([
	[0, "0ms"],
	[999.6, "1000ms"],
	[1234, "1.2s"],
	[59_900, "59s"],
	[180_000, "3m"],
	[86_400_000, "24h"],
	[432_000_000, "5d"],
])("D36: %d ms are shown as %s", (ms, text) => {
	expect(spanText(ms)).toBe(text);
});
