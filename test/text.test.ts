/** The check of the repository's text (`scripts/check-text.ts`) itself: what it finds. */
import { describe, expect, it } from "vitest";
import { folderOf, overAllowance, readAllowance, repositoryFaults, textFaults } from "../scripts/check-text.ts";

const messages = (path: string, text: string) =>
	textFaults(path, text).map(({ line, message }) => `${line}: ${message.split(":")[0]}`);

describe("the check of the text", () => {
	it.each([
		["src/a.ts", "/** Of a job. */", 1],
		["src/a.ts", "x\n/**\n * Longest wait, ms.\n */", 1],
		["src/a.ts", "/** Office hours. Of a job. */", 0],
		["test/a.ts", "/** Of a job. */", 0],
	])("%s: %j is no sentence", (path, text, count) => {
		expect(textFaults(path, text)).toHaveLength(count);
	});

	it("finds no more in this repository than its allowance", () => {
		expect(overAllowance(repositoryFaults(), readAllowance())).toEqual([]);
	});

	it.each([
		["// the client is told so", ['1: "told"']],
		["const toldOf = isTold(job);", ['1: "told"', '1: "Told"']],
		["it tells which\nand then telling it", ['1: "tells"', '2: "telling"']],
		["Whoever asks", ['1: "Whoever"']],
		["nobody, somebody", ['1: "nobody"', '1: "somebody"']],
		["begins anew", ['1: "anew"']],
		["jobs under way\nlet underWay = 0", ['1: "under way"', '2: "underWay"']],
		["/**\n * what is under\n * way\n */", ['2: "under way"']],
		["// in\n// hand", ['1: "in hand"']],
		["ends by itself or of themselves", ['1: "by itself"', '1: "of themselves"']],
		["once more and again and again", ['1: "once more"', '1: "again and again"']],
		["kept for ever, in vain", ['1: "for ever"', '1: "in vain"']],
		["roll dice", ['1: "roll dice"']],
		["There is no place for 'x'", ['1: "no place for"']],
		["the worker is gone", ['1: "gone"']],
		["the store is away", ['1: "away"']],
		["it looks at the row; one look", ['1: "looks at"', '1: "one look"']],
	])("finds the banned words of %j", (text, expected) => {
		expect(messages("src/kernel/engine/engine.ts", text)).toEqual(expected);
	});

	it.each([
		"what tells the two apart, and how to tell apart",
		"it runs right away; thrown away; far away",
		"import { step } from './in hand-written.ts'",
		"error code worker_gone, column last_told, event store.away, user `nobody`",
		"foretold, gateway, hands, looks like, looks up, steadily, hindering",
	])("finds nothing in %j", (text) => {
		expect(messages("src/kernel/engine/engine.ts", text)).toEqual([]);
	});

	it("counts columns with a tab as two, and allows 120", () => {
		const wide = (columns: number) => `\t${"x".repeat(columns - 2)}`;
		expect(messages("test/a.test.ts", `${wide(120)}\n${wide(121)}`)).toEqual(["2: 121 columns, at most 120"]);
	});

	it.each([
		["src/a.ts", 2],
		["console/src/pages/a.tsx", 2],
		["test/spec/a.test.ts", 2],
		["scripts/gen/a.ts", 2],
		["bench/a.ts", 2],
		["docs/guides/a.md", 1],
		["README.md", 1],
		["CONTRIBUTING.md", 1],
		["src/a.json", 0],
		["package-lock.json", 0],
		["scripts/check-text.ts", 1],
	])("of a banned word in a wide line, finds in %s: %i", (path, count) => {
		expect(textFaults(path, `told${"x".repeat(200)} told`)).toHaveLength(count);
	});

	it("fails a folder with more than its allowance, or with any where it has none", () => {
		const faults = ["src/a.ts", "src/b/c.ts", "docs/a.md"].map((path) => ({
			path,
			line: 1,
			message: "",
		}));
		expect(overAllowance(faults, { src: 2, docs: 1 })).toEqual([]);
		expect(overAllowance(faults, { src: 1 })).toEqual([
			"src: 2 faults of text, at most 1 are allowed",
			"docs: 1 faults of text, at most 0 are allowed",
		]);
	});

	it("counts files at the root for themselves", () => {
		expect([folderOf("README.md"), folderOf("console/src/client/api.ts")]).toEqual(["README.md", "console"]);
	});
});
