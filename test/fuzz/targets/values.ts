/** Outputs of jobs as the console reads them: Markdown, views of a value, errors, differences. */
import fc from "fast-check";
import type { Token } from "markdown-it";
import { diffOf } from "../../../console/src/values/diff.ts";
import { firstLine, previewOf, readError } from "../../../console/src/values/jobs/job-error.ts";
import { readMarkdown } from "../../../console/src/values/markdown.ts";
import { rowsOf, textOf, turnsOf, viewsOf } from "../../../console/src/values/views.ts";
import { jsonValue, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const piece = fc.oneof(
	oddText,
	fc.constantFrom(
		..."# |- |1. |> |```\n|`|**|*|_|__|~~|[a](https://x.y)|[a](javascript:x)|<b>|\n|\n\n|  |---".split("|"),
		"|",
		"|---|",
	),
);
const markdown = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

/** Every text that is shown; addresses must be of http. */
function* texts(tokens: readonly Token[]): Generator<string> {
	for (const token of tokens) {
		const address = token.attrGet("href") ?? token.attrGet("src");
		must(address === null || /^https?:\/\//i.test(String(address)), `a link leads to ${address}`);
		if (token.children) yield* texts(token.children);
		else yield token.content;
	}
}

/** What Markdown gives no meaning: other characters may be changed. */
const wordsIn = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];

export const VALUES = target({
	name: "values",
	sources: [],
	cases: fc.record({ text: markdown, other: markdown, value: jsonValue }),
	check(q) {
		const [text, other] = [String(q.text), String(q.other)];
		// Nothing is invented, and nothing changes its place.
		let at = 0;
		// A reference such as "&Re;" is shown as the letter that it stands for.
		const exact = !/&#?\w+;/.test(text);
		for (const shown of texts(readMarkdown(text)))
			for (const word of wordsIn(shown)) {
				const found = text.indexOf(word, at);
				must(!exact || found >= 0, `${JSON.stringify(word)} is not in the text behind ${at}`);
				if (found >= 0) at = found + word.length;
			}
		for (const value of [q.value, text, { text, list: [q.value, q.value] }]) {
			must(viewsOf(value).includes("json"), "no view as JSON");
			textOf(value);
			turnsOf(value);
			rowsOf(value);
		}
		for (const error of [text, JSON.stringify({ error_message: text, error_traceback: other })])
			must(!/[\r\n]/.test(firstLine(error)), "an error of several lines");
		same("message", readError(JSON.stringify({ error_message: text })).message, text);
		must(previewOf(text).length <= 200, "a long preview");
		const lines = diffOf(text, other);
		for (const [side, whole] of [
			["left", text],
			["right", other],
		] as const)
			same(
				side,
				lines
					?.filter((line) => line.in === "both" || line.in === side)
					.map((line) => line.text)
					.join("\n"),
				whole,
			);
	},
});
