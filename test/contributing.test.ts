/**
 * The index of CONTRIBUTING ("I want to change ...") and the links of the documents lead somewhere.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENTS = [
	"README.md",
	"CONTRIBUTING.md",
	"docs/architecture.md",
	"docs/benchmarks.md",
	"docs/decisions/README.md",
	"examples/README.md",
];

describe("documents", () => {
	it.each(DOCUMENTS)("the links of %s lead to files", (document) => {
		const text = readFileSync(join(ROOT, document), "utf8");
		const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map((match) =>
			join(dirname(document), match[1]!),
		);
		expect(links.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
	});

	it("every path that CONTRIBUTING names exists", () => {
		const paths = [
			...readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8").matchAll(
				/`((?:src|test|bench|docs|console|scripts)\/[^`\s]*)`/g,
			),
		].map((match) => match[1]!);
		expect(paths.length).toBeGreaterThan(25);
		expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
	});

	it("every file of the source that architecture.md names exists", () => {
		const names = [
			...readFileSync(join(ROOT, "docs/architecture.md"), "utf8").matchAll(
				/`((?:core|store|engine|http|launchers)\/[\w./-]+\.ts)/g,
			),
		].map((match) => match[1]!);
		expect(names.length).toBeGreaterThan(10);
		expect(names.filter((name) => !existsSync(join(ROOT, "src", name)))).toEqual([]);
	});
});
