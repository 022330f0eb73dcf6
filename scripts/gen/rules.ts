/**
 * `docs/reference/rules.md`: every rule with the tests that show it. Fails for a title of an
 * unknown rule, and for a rule without a test.
 */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Rule, RULES } from "../rules.ts";
import { type Page, plain, table } from "./markdown.ts";
import { titlesIn } from "./titles.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const rules: Page = {
	file: "rules.md",
	title: "Rules and their tests",
	about: "every rule of the specification and of behaviour.md, with the tests that show it",
	body() {
		const shown = testsByRule(sources());
		return [
			"Titles of tests begin with the rules that they show. `spec 2.4` is a section of the " +
				"specification; in its sections 3, 5 and 8 the number after the point is that of a rule. " +
				"`D16` is a section of [behaviour.md](../behaviour.md).",
			table(
				["Rule", "What it says", "Tests", "In"],
				RULES.map((rule) => row(rule, shown.get(rule.id) ?? [])),
			),
		].join("\n\n");
	},
};

/**
 * The file of each test, by rule. Throws with every title that names an unknown rule, and every rule without a
 * test.
 */
export function testsByRule(texts: readonly { file: string; text: string }[]): Map<string, string[]> {
	const ids = RULES.map(({ id }) => id);
	const shown = new Map<string, string[]>(ids.map((id) => [id, []]));
	const faults: string[] = [];
	for (const { file, text } of texts) {
		for (const title of titlesIn(text, ids)) {
			for (const id of title.ids) {
				const tests = shown.get(id);
				if (tests) tests.push(file);
				else faults.push(`${file}: there is no rule ${id} (in '${title.text}').`);
			}
		}
	}
	for (const { id } of RULES)
		if (shown.get(id)!.length === 0) faults.push(`No test shows ${id}: begin a title with it.`);
	if (faults.length > 0) throw new Error(faults.join("\n"));
	return shown;
}

/** All files that may hold tests. */
function sources(): { file: string; text: string }[] {
	return ["src", "packages", "test"].flatMap((folder) =>
		readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: "utf8" })
			.filter((path) => path.endsWith(".ts") && (folder === "test" || path.endsWith(".test.ts")))
			.toSorted()
			.map((path) => ({
				file: `${folder}/${path}`,
				text: readFileSync(`${ROOT}${folder}/${path}`, "utf8"),
			})),
	);
}

const BEHAVIOUR = readFileSync(`${ROOT}docs/behaviour.md`, "utf8");

/** Anchor of the rule in docs/behaviour.md; undefined for sections of the specification. */
function anchorOf({ id }: Rule): string | undefined {
	return new RegExp(`^<a id="(${id.toLowerCase()})"></a>$`, "m").exec(BEHAVIOUR)?.[1];
}

/** One line: other changes of the tests rarely touch the same one. */
function row(rule: Rule, files: readonly string[]): string[] {
	const anchor = anchorOf(rule);
	return [
		anchor === undefined ? rule.id : `[${rule.id}](../behaviour.md#${anchor})`,
		plain(rule.says),
		String(files.length),
		[...new Set(files)].map((file) => `[${file.replace(/(\.test)?\.ts$/, "")}](../../${file})`).join(", "),
	];
}
