/** What a check of a store prints of texts that the store contains. */
import { expect, it } from "vitest";
import { reportText } from "./report.ts";

it("D46: texts of a store that is checked cannot control the terminal", () => {
	const escape = "\u001b]52;c;AAAA\u0007\u001b[2J";
	const report = { problems: [`1 jobs have no input: ${escape}x`], notes: [`not checked: ${escape}`] };
	const key = { secret: undefined, previousSecret: undefined, file: "s.secret" };
	const text = reportText("a.tar", { report: { ...report, key: "unused" }, key });
	expect(text).toContain("\n- 1 jobs have no input: x\n");
	// oxlint-disable-next-line no-control-regex
	expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});
