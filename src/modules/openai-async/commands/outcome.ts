/** What became of a batch, in words, and where its results are. */
import type { BatchObject } from "../routes.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
import { withFullStop } from "../../../kernel/lib/text.ts";
import { timeText } from "../../../cli/framework/progress-bar.ts";
import { counted } from "../../../cli/framework/table.ts";
import { doneText, endOf, tokensText } from "./progress.ts";

const MOST_ERRORS = 5;

/** Whether each request has an answer. */
export function isFlawless({ status, request_counts: { failed } }: BatchObject): boolean {
	return status === "completed" && failed === 0;
}

/** Lines about a batch that has ended. `isWritten`: its answers are in a file that the user has named. */
export function outcomeText(batch: BatchObject, q: { endpoint: string; isWritten: boolean }): string {
	const { id, output_file_id: output, error_file_id: errors } = batch;
	const results = `sluice batches results ${q.endpoint} ${id}`;
	const tokens = tokensText(batch);
	return [
		`Batch ${id} is ${batch.status}${countsText(batch)}${timeTaken(batch)}.`,
		...reasonLines(batch),
		...(tokens === undefined ? [] : [`Tokens: ${tokens}.`]),
		...(output === null || q.isWritten ? [] : [`Results: ${results} --output FILE`]),
		...(errors === null ? [] : [`Errors: ${results} --errors`]),
	]
		.map((line) => `${printable(line)}\n`)
		.join("");
}

function countsText(batch: BatchObject): string {
	const { failed } = batch.request_counts;
	const done = doneText(batch);
	if (done === undefined) return "";
	return `: ${done} requests done, ${failed === 0 ? "none failed" : `${failed} failed`}`;
}

function timeTaken(batch: BatchObject): string {
	const end = endOf(batch);
	return end === null ? "" : `, after ${timeText((end - batch.created_at) * 1000)}`;
}

/** The first of `errors.data`, such as `- Line 3: It is not JSON. (invalid_json_line)`. */
export function reasonLines({ errors }: BatchObject): string[] {
	const all = errors?.data ?? [];
	const lines = all.slice(0, MOST_ERRORS).map(({ line, message, code }) => {
		const place = line === null ? "" : `Line ${line}: `;
		return `- ${place}${withFullStop(message)} (${code})`;
	});
	const more = all.length - lines.length;
	return more > 0 ? [...lines, `- and ${counted(more, "more error")}; -o json of 'batches get' has all`] : lines;
}
