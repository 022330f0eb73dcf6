/**
 * `docs/reference/rules.md`: every rule with the tests that show it. Fails for a title of an
 * unknown rule, and for a rule without a test.
 */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RULES } from "../rules.ts";
import type { Rule } from "../rules.ts";
import { headingAnchor, plain, table } from "./markdown.ts";
import type { Page } from "./markdown.ts";
import { titlesIn } from "./titles.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Where a rule is shown: a file, and the title there. */
interface Shown {
	file: string;
	text: string;
}

export const rules: Page = {
	file: "rules.md",
	title: "Rules and their tests",
	about: "every rule of the specification and of behaviour.md, with the tests that show it",
	body() {
		const shown = testsByRule(sources());
		const overview = table(
			["Rule", "What it says", "Tests"],
			RULES.map((rule) => [
				`[${rule.id}](#${headingAnchor(rule.id)})`,
				plain(rule.says),
				String(shown.get(rule.id)?.length ?? 0),
			]),
		);
		return [
			"Titles of tests begin with the rules that they show. `spec 2.4` is a section of the " +
				"specification; in its sections 3, 5 and 8 the number after the point is that of a rule. " +
				"`D16` is a section of [behaviour.md](../behaviour.md).",
			overview,
			...RULES.map((rule) => section(rule, shown.get(rule.id) ?? [])),
		].join("\n\n");
	},
};

/**
 * Tests of each rule. Throws with every title that names an unknown rule, and every rule without a
 * test.
 */
export function testsByRule(
	texts: readonly { file: string; text: string }[],
): Map<string, Shown[]> {
	const ids = RULES.map(({ id }) => id);
	const shown = new Map<string, Shown[]>(ids.map((id) => [id, []]));
	const faults: string[] = [];
	for (const { file, text } of texts) {
		for (const title of titlesIn(text, ids)) {
			for (const id of title.ids) {
				const tests = shown.get(id);
				if (tests) tests.push({ file, text: title.text });
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
	return ["src", "test"].flatMap((folder) =>
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

/** Heading of the rule in docs/behaviour.md; undefined for sections of the specification. */
function titleOf({ id }: Rule): string | undefined {
	return new RegExp(`^## (${id} .*)$`, "m").exec(BEHAVIOUR)?.[1];
}

function section(rule: Rule, tests: readonly Shown[]): string {
	const byFile = [...Map.groupBy(tests, ({ file }) => file)];
	const list = byFile.map(([file, all]) =>
		[
			`- [${file}](../../${file})`,
			...all.map(({ text }) => `  - ${text === "" ? "(the whole group)" : plain(text)}`),
		].join("\n"),
	);
	const title = titleOf(rule);
	return [
		`### ${rule.id}`,
		plain(rule.says),
		...(title === undefined
			? []
			: [`In full: [${plain(title)}](../behaviour.md#${headingAnchor(title)}).`]),
		...(list.length > 0 ? [list.join("\n")] : []),
	].join("\n\n");
}
