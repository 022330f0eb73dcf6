/**
 * The pages of `docs/reference/` are as the source has them, and what makes them notices what is
 * wrong.
 */
import { MODULES } from "../src/modules/index.ts";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { RULES } from "../scripts/rules.ts";
import { eventsIn, eventTables } from "../scripts/gen/events.ts";
import { headingAnchor } from "../scripts/gen/markdown.ts";
import { testsByRule } from "../scripts/gen/rules.ts";
import { titlesIn } from "../scripts/gen/titles.ts";
import { loadConfig } from "../src/kernel/config/config.ts";
import { EVENTS } from "../src/kernel/event-table.ts";
import { ROUTES } from "../src/modules/tables.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = join(ROOT, "docs/reference");
const pages = readdirSync(FOLDER);
const page = (file: string): string => readFileSync(join(FOLDER, file), "utf8");
const ids = RULES.map(({ id }) => id);

describe("docs/reference", () => {
	it("is as the source has it; npm run reference makes it so", () => {
		execFileSync(process.execPath, [join(ROOT, "scripts/gen.ts"), "--check"], { stdio: "pipe" });
	});

	it.each(pages)("the links of %s lead to files and headings", (file) => {
		// Without code, such as a pattern.
		const text = page(file).replace(/`[^`\n]*`/g, "");
		const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map((match) => ({
			to: match[1]!,
			heading: match[2],
		}));
		const lost = links.filter(({ to, heading }) => {
			const path = to === "" ? join(FOLDER, file) : join(FOLDER, dirname(file), to);
			if (!existsSync(path)) return true;
			if (heading === undefined) return false;
			return !readFileSync(path, "utf8")
				.split("\n")
				.some(
					(line) =>
						line === `<a id="${heading}"></a>` ||
						(/^#+ /.test(line) && headingAnchor(line.replace(/^#+ /, "")) === heading),
				);
		});
		expect(lost).toEqual([]);
	});

	it("names every operation", () => {
		for (const route of ROUTES) expect(page("api.md").includes(`### ${route.name}\n`), route.name).toBe(!route.page);
	});
});

describe("docs/reference/config.md", () => {
	it("D35: its example is a configuration that the service takes", () => {
		const [, yaml = ""] = /```yaml\n(.*?)```/s.exec(page("config.md"))!;
		const loaded = loadConfig({ modules: MODULES, flags: {}, env: {}, cwd: "/", readFile: () => yaml });
		expect(loaded).toMatchObject({
			ok: true,
			config: { endpoints: [{ id: "thumbnail" }], publicUrl: "http://192.168.1.10:8080" },
		});
	});
});

describe("rules", () => {
	it("each is there once", () => {
		expect(new Set(ids).size).toBe(ids.length);
		const behaviours = ids.filter((id) => id.startsWith("D"));
		expect(behaviours).toEqual(behaviours.map((_, index) => `D${index + 1}`));
	});

	it.each([
		["it", '"', "spec 2.4, D15: a", ["spec 2.4", "D15"], "a"],
		["it.each([[1], [2]])", "`", "D7: ${x}", ["D7"], "${x}"],
		["describe", "'", "spec 2.3 to 2.5: b", ["spec 2.3", "spec 2.4", "spec 2.5"], "b"],
		["it", '"', "spec 2.8, 3: c", ["spec 2.8", "spec 3"], "c"],
		["it", '"', "A.7, D7: d", ["D7"], "d"],
		["describe", '"', "D11", ["D11"], ""],
		["it", '"', 'D2: \\"quoted\\"', ["D2"], '"quoted"'],
	])("a title in %s(%s%s is read", (call, quote, title, named, text) => {
		expect(titlesIn(test(title, call, quote), ids)).toEqual([{ ids: named, text }]);
	});

	it.each(["finds D7: a", "D7 is a decision: so", "B.5: errors"])("'%s' is no title of a rule", (title) => {
		expect(titlesIn(test(title), ids)).toEqual([]);
	});

	const all = { file: "a.test.ts", text: RULES.map(({ id }) => test(`${id}: a`)).join("\n") };
	const more = (title: string): { file: string; text: string } => ({
		file: "b.test.ts",
		text: test(title),
	});

	it("a title that names an unknown rule is a fault", () => {
		expect(testsByRule([all]).get("D7")).toEqual(["a.test.ts"]);
		expect(() => testsByRule([all, more(`D${99}: b`)])).toThrow(`b.test.ts: there is no rule D${99} (in 'b').`);
		expect(() => testsByRule([all, more(`spec ${3.4}: b`)])).toThrow("there is no rule spec 3.4");
	});

	it("a rule without a test is a fault", () => {
		expect(() => testsByRule([{ ...all, text: all.text.replace("D7:", "D8:") }])).toThrow("No test shows D7");
	});
});

/**
 * The text of a test with this title. Titles here are not written as such, or they would count as
 * tests of their rules.
 */
function test(title: string, call = "it", quote = '"'): string {
	return `${call}(${quote}${title}${quote}, () => {});`;
}

describe("events", () => {
	it("each has its level, its docstring and its facts; one without shares the one before it", () => {
		const text =
			"export const EVENTS = {\n  /** One. */\n" +
			`  "a.b": warn<{ x: string; y: number | undefined }>(({ x }) => x),\n` +
			"  /**\n   * Two\n   * lines.\n   */\n  c: debug(),\n" +
			"  d: debug<{\n    z: string;\n  }>(),\n};\n";
		expect(eventsIn(text)).toEqual([
			{ name: "a.b", level: "warn", docstring: "One.", facts: ["x", "y"] },
			{ name: "c", level: "debug", docstring: "Two lines.", facts: [] },
			{ name: "d", level: "debug", docstring: "Two lines.", facts: ["z"] },
		]);
	});

	it("every event of the source is on the page", () => {
		const modules = MODULES.flatMap(({ events = {} }) => Object.keys(events));
		expect(
			eventTables()
				.flatMap(eventsIn)
				.map(({ name }) => name),
		).toEqual([...Object.keys(EVENTS), ...modules]);
	});
});
