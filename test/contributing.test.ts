/**
 * The index of CONTRIBUTING ("I want to change ...") and the links of the documents lead somewhere.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENTS = [
	"README.md",
	"CONTRIBUTING.md",
	"SECURITY.md",
	"docs/architecture.md",
	"docs/behaviour.md",
	"docs/protocol.md",
	"docs/benchmarks.md",
	"docs/scaling.md",
	"deploy/README.md",
	"examples/README.md",
	"examples/python/README.md",
	"docs/testing.md",
	...["docs/decisions", "docs/guides", "docs/runbooks"].flatMap((folder) =>
		readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`),
	),
];

describe("documents", () => {
	it.each(DOCUMENTS)("the links of %s lead to files", (document) => {
		const text = readFileSync(join(ROOT, document), "utf8");
		const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map((match) => join(dirname(document), match[1]!));
		expect(links.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
	});

	it("every path that CONTRIBUTING names exists", () => {
		const paths = [
			...readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8").matchAll(
				/`((?:src|packages|test|bench|docs|console|scripts)\/[^`\s]*)`/g,
			),
		].map((match) => match[1]!);
		expect(paths.length).toBeGreaterThan(25);
		expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
	});

	it.each(["src/kernel/core", "src/kernel/engine", "src/kernel/launchers", "src/kernel/http", "src/cli", "console"])(
		"every path that the README of %s names exists",
		(folder) => {
			const lines = readFileSync(join(ROOT, folder, "README.md"), "utf8").split("\n");
			let count = 0;
			const missing = lines.flatMap((line) => {
				const paths = [...line.matchAll(/`([\w./-]+(?:\.tsx?|\/))`/g)]
					.map((match) => match[1]!)
					.filter((path) => !path.startsWith("/"));
				count += paths.length;
				// A path may be relative to the folder that its row is about.
				const bases = [".", folder, join(folder, paths[0] ?? "")];
				return paths.filter((path) => !bases.some((base) => existsSync(join(ROOT, base, path))));
			});
			expect(count).toBeGreaterThan(8);
			expect(missing).toEqual([]);
		},
	);

	it("every file of the source that architecture.md names exists", () => {
		const names = [
			...readFileSync(join(ROOT, "docs/architecture.md"), "utf8").matchAll(
				/`((?:api|core|store|engine|http|launchers|webhooks)\/[\w./-]+\.ts)/g,
			),
		].map((match) => match[1]!);
		expect(names.length).toBeGreaterThan(10);
		expect(names.filter((name) => !existsSync(join(ROOT, "src/kernel", name)))).toEqual([]);
	});
});

describe("marks", () => {
	const SOURCE = /\.(?:ts|tsx|js|mjs|md)$/;

	/** Texts below these folders by path; the generated reference repeats titles of tests. */
	function texts(folders: readonly string[]): Map<string, string> {
		const paths = folders.flatMap((folder) =>
			readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
				.filter((path) => SOURCE.test(path) && !/node_modules|^reference\//.test(path))
				.map((path) => `${folder}/${path}`),
		);
		return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
	}

	/** Marks that this pattern finds and that are not known, each with its file. */
	function unknown(found: Map<string, string>, mark: RegExp, known: Set<string>): string[] {
		return [...found].flatMap(([path, text]) =>
			[...text.matchAll(mark)].filter(([id]) => !known.has(id)).map(([id]) => `${path}: ${id}`),
		);
	}

	const behaviour = readFileSync(join(ROOT, "docs/behaviour.md"), "utf8");
	const protocol = readFileSync(join(ROOT, "docs/protocol.md"), "utf8");
	const everywhere = texts(["src", "packages", "test", "docs", "console/src", "scripts", "bench", "examples"]);

	/** Sections of a document by the mark of their anchor, such as `<a id="d16"></a>`. */
	function sections(text: string): Map<string, string> {
		const parts = text.split(/^<a id="(\w+)"><\/a>\n\n#+ /m).slice(1);
		return new Map(parts.flatMap((id, index) => (index % 2 === 0 ? [[id.toUpperCase(), parts[index + 1]!]] : [])));
	}

	it("every rule that is cited, such as D16, is an anchor of docs/behaviour.md", () => {
		const known = new Set(sections(behaviour).keys());
		expect(known.size).toBeGreaterThan(40);
		expect(everywhere.size).toBeGreaterThan(500);
		expect(unknown(everywhere, /\bD\d{1,2}\b/g, known)).toEqual([]);
	});

	it("every part of one that is cited, such as D16 Fence, is named there", () => {
		const known = new Set(
			[...sections(behaviour)].flatMap(([id, section]) =>
				[...section.matchAll(/^\*\*([A-Z][a-z]+)/gm)].map((match) => `${id} ${match[1]!}`),
			),
		);
		expect(unknown(texts(["src", "packages", "test"]), /\bD\d{1,2} [A-Z][a-z]+/g, known)).toEqual([]);
	});

	it("every section of the protocol that is cited, such as B.5, is an anchor of docs/protocol.md", () => {
		const known = new Set([...sections(protocol).keys()].map((id) => id.replace(/^[A-C]/, "$&.")));
		expect(known.size).toBeGreaterThan(20);
		expect(unknown(everywhere, /\b[A-F]\.\d{1,2}\b/g, known)).toEqual([]);
	});
});
