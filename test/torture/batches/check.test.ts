/** The check of a campaign finds what it looks for, and nothing in sound files (D57). */
import { expect, it } from "vitest";
import type { BatchObject } from "../../../src/modules/openai-async/routes.ts";
import { check } from "./check.ts";
import { answerTo, FAILURE, fails, idOf } from "./requests.ts";

const COUNT = 100;
const LOST = "The job was lost 3 times and is not tried again: no ping.";

const answer = (n: number, body: object = answerTo(n)): string =>
	JSON.stringify({ custom_id: idOf(n), response: { status_code: 200, body }, error: null });

const failure = (n: number, message = FAILURE, status = 500): string =>
	JSON.stringify({ custom_id: idOf(n), response: { status_code: status, body: { error: { message } } }, error: null });

interface Made {
	batch: BatchObject;
	output: string[];
	errors: string[];
}

/** A batch that ended as it should, with one request whose worker died three times. */
function made(): Made {
	const numbers = Array.from({ length: COUNT }, (_, n) => n);
	const answered = numbers.filter((n) => !fails(n) && n !== 7);
	const tokens = (of: (usage: any) => number): number =>
		answered.reduce((sum, n) => sum + of((answerTo(n) as { usage: object }).usage), 0);
	const [input, output] = [tokens((each) => each.prompt_tokens), tokens((each) => each.completion_tokens)];
	const batch = {
		status: "completed",
		...{ output_file_id: "file-1", error_file_id: "file-2" },
		request_counts: { total: COUNT, completed: answered.length, failed: COUNT - answered.length },
		usage: {
			input_tokens: input,
			input_tokens_details: { cached_tokens: tokens((each) => each.prompt_tokens_details.cached_tokens) },
			output_tokens: output,
			output_tokens_details: { reasoning_tokens: tokens((each) => each.completion_tokens_details.reasoning_tokens) },
			total_tokens: input + output,
		},
	} as BatchObject;
	const errors = [...numbers.filter(fails).map((n) => failure(n)), failure(7, LOST)];
	return { batch, output: answered.map((n) => answer(n)), errors };
}

const checked = ({ batch, ...files }: Made) => check(batch, { count: COUNT, ...files });

it("sound files break nothing", async () => {
	expect(await checked(made())).toEqual({ violations: [], answers: 97, failures: 3, lost: 1 });
});

it.each<[string, (made: Made) => unknown, RegExp]>([
	["a request that is in the output twice", ({ output }) => output.push(answer(3)), /^line-3 is in the files twice/],
	["one that is in both files", ({ errors }) => errors.push(failure(3, LOST)), /^line-3 is in the files twice/],
	["one that is missing", ({ output }) => output.shift(), /^line-0 is missing/],
	["one that no client made", ({ output }) => output.push(answer(COUNT)), /^line-100 is no request/],
	["an answer of another request", ({ output }) => (output[0] = answer(0, answerTo(1))), /^line-0 has another answer/],
	["an answer that is cut off", ({ output }) => (output[0] = output[0]!.slice(0, 60)), /^a line .* is not JSON/],
	["an answer to one that failed", ({ output }) => output.push(answer(49)), /^line-49 has an answer/],
	["a failure of another kind", ({ errors }) => (errors[0] = failure(49, FAILURE, 504)), /^line-49 failed otherwise/],
	["a failure of one that does not fail", ({ errors }) => (errors[2] = failure(7)), /^line-7 failed otherwise/],
	["a batch that is not completed", ({ batch }) => (batch.status = "failed"), /^the batch is failed/],
	[
		"a count of answers",
		({ batch }) => (batch.request_counts.completed += 1),
		/^request_counts.completed is 98, .* 97/,
	],
	["a count of failures", ({ batch }) => (batch.request_counts.failed -= 1), /^request_counts.failed is 2, .* 3/],
	["a total", ({ batch }) => (batch.request_counts.total += 1), /^request_counts.total/],
	["tokens", ({ batch }) => (batch.usage.input_tokens += 1), /^usage.input_tokens/],
	["cached tokens", ({ batch }) => (batch.usage.input_tokens_details.cached_tokens += 1), /^cached_tokens/],
	["reasoning", ({ batch }) => (batch.usage.output_tokens_details.reasoning_tokens += 1), /^reasoning_tokens/],
	["a sum of tokens", ({ batch }) => (batch.usage.total_tokens += 1), /^usage.total_tokens/],
	["a file without lines", ({ errors }) => errors.splice(0), /^there is an error file without lines/],
])("D57: %s is found", async (_, plant, found) => {
	const planted = made();
	plant(planted);
	const { violations } = await checked(planted);
	expect(violations.filter((each) => found.test(each))).toHaveLength(1);
});
