/** Holds the files of a batch that has ended against its requests and its counters (D57). */
import type { BatchObject } from "../../../src/modules/openai-async/routes.ts";
import { answerTo, FAILURE, fails, idOf, numberOf } from "./requests.ts";

/** As they are shown. */
const MOST = 20;

/** What the error file says of a request whose worker died three times. */
const LOST = /was lost \d+ times/;

export interface Checked {
	violations: string[];
	answers: number;
	failures: number;
	/** Failures of requests whose worker died three times. */
	lost: number;
}

interface ResultLine {
	custom_id: string;
	response: { status_code: number; body: any } | null;
	error: { code: string } | null;
}

type Lines = AsyncIterable<string> | Iterable<string>;

/** `count`: its requests. */
export async function check(
	batch: BatchObject,
	{ count, output, errors }: { count: number; output: Lines; errors: Lines },
): Promise<Checked> {
	const all: string[] = [];
	const seen = new Set<number>();
	const usage = { input: 0, cached: 0, output: 0, reasoning: 0 };
	let [answers, failures, lost] = [0, 0, 0];

	/** Undefined after a violation. */
	function read(line: string, file: string): (ResultLine & { n: number }) | undefined {
		let result: ResultLine;
		try {
			result = JSON.parse(line) as ResultLine;
		} catch {
			return void all.push(`a line of the ${file} file is not JSON: ${line.slice(0, 200)}`);
		}
		const n = numberOf(result.custom_id);
		if (n === undefined || n >= count) return void all.push(`${result.custom_id} is no request of the batch`);
		if (seen.has(n)) return void all.push(`${result.custom_id} is in the files twice`);
		seen.add(n);
		return { ...result, n };
	}

	for await (const line of output) {
		answers += 1;
		const result = read(line, "output");
		if (!result) continue;
		const { n, response } = result;
		if (fails(n)) all.push(`${idOf(n)} has an answer, but its run failed`);
		if (response?.status_code !== 200 || JSON.stringify(response.body) !== JSON.stringify(answerTo(n)))
			all.push(`${idOf(n)} has another answer: ${line.slice(0, 200)}`);
		const own = response?.body?.usage;
		usage.input += own?.prompt_tokens ?? 0;
		usage.cached += own?.prompt_tokens_details.cached_tokens ?? 0;
		usage.output += own?.completion_tokens ?? 0;
		usage.reasoning += own?.completion_tokens_details.reasoning_tokens ?? 0;
	}
	for await (const line of errors) {
		failures += 1;
		const result = read(line, "error");
		if (!result) continue;
		const { n, response } = result;
		const message = String(response?.body?.error?.message);
		if (LOST.test(message)) lost += 1;
		else if (!fails(n) || response?.status_code !== 500 || message !== FAILURE)
			all.push(`${idOf(n)} failed otherwise: ${line.slice(0, 200)}`);
	}
	for (let n = 0; n < count; n += 1) if (!seen.has(n)) all.push(`${idOf(n)} is missing`);

	function equal(what: string, shown: number, found: number): void {
		if (shown !== found) all.push(`${what} is ${shown}, by the files ${found}`);
	}
	if (batch.status !== "completed") all.push(`the batch is ${batch.status}`);
	if ((batch.output_file_id === null) !== (answers === 0)) all.push("there is an output file without lines");
	if ((batch.error_file_id === null) !== (failures === 0)) all.push("there is an error file without lines");
	equal("request_counts.total", batch.request_counts.total, count);
	equal("request_counts.completed", batch.request_counts.completed, answers);
	equal("request_counts.failed", batch.request_counts.failed, failures);
	equal("usage.input_tokens", batch.usage.input_tokens, usage.input);
	equal("cached_tokens", batch.usage.input_tokens_details.cached_tokens, usage.cached);
	equal("usage.output_tokens", batch.usage.output_tokens, usage.output);
	equal("reasoning_tokens", batch.usage.output_tokens_details.reasoning_tokens, usage.reasoning);
	equal("usage.total_tokens", batch.usage.total_tokens, usage.input + usage.output);
	const more = all.length > MOST ? [`and ${all.length - MOST} more`] : [];
	return { violations: [...all.slice(0, MOST), ...more], answers, failures, lost };
}
