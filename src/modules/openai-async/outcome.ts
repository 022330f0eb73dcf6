/** What a request of a batch became: its line in the output file or the error file (D57). */
import { asOne, type JsonText, LARGE_BYTES, piecesOf, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import type { JobResult } from "../../kernel/core/jobs/job-view.ts";
import { failureBody, type OpenAIFailure } from "../openai/error-form.ts";
import { failureInOutput, failureOfJob } from "../openai/failures.ts";
import { usageDetailsIn, usageIn, usageText } from "../openai/usage.ts";
import { type Counts, NO_COUNTS, type Tokens } from "./progress.ts";

/** What no answer exists for. */
export type Missing = "batch_cancelled" | "batch_expired" | "request_timeout";

const MESSAGES: Readonly<Record<Missing, string>> = {
	batch_cancelled: "The request did not run, because the batch was cancelled or its queue was purged.",
	batch_expired: "The request did not end before the batch expired.",
	request_timeout: "The request exceeded its execution timeout.",
};

export interface Outcome {
	isAnswer: boolean;
	/** JSON text on one line. */
	text: JsonText;
	counts: Counts;
}

/** Names of a request: `id` in the files, `customId` of its client. */
export interface RequestName {
	id: string;
	customId: string;
}

/** `body`: the result of a completed job, without its list. */
export function outcomeOf(name: RequestName, found: JobResult, body: JsonText | undefined): Outcome {
	const { job } = found;
	if (job.state === "CANCELLED") return withoutAnswer(name, "batch_cancelled");
	if (job.state === "TIMED_OUT")
		return withoutAnswer(name, job.startedAt === undefined ? "batch_expired" : "request_timeout");
	if (job.state !== "COMPLETED") return failed(name, job.id, failureOfJob(found));
	const text = body ?? "{}";
	const failure = sizeOf(text) <= LARGE_BYTES ? failureInOutput(stringOf(text)) : undefined;
	return failure ? failed(name, job.id, failure) : answered(name, job.id, text);
}

/** The outcome of a request whose answer is no failure. */
export function answered(name: RequestName, job: string, body: JsonText): Outcome {
	return {
		isAnswer: true,
		text: responseLine(name, { job, status: 200, body }),
		counts: { ...NO_COUNTS, completed: 1, ...tokensIn(usageText(body)) },
	};
}

export function withoutAnswer(name: RequestName, code: Missing): Outcome {
	const error = JSON.stringify({ code, message: MESSAGES[code] });
	return { isAnswer: false, text: `${head(name)},"response":null,"error":${error}}`, counts: FAILED };
}

function failed(name: RequestName, job: string, failure: OpenAIFailure): Outcome {
	const text = responseLine(name, { job, status: failure.status, body: failureBody(failure) });
	return { isAnswer: false, text, counts: FAILED };
}

const FAILED: Counts = { ...NO_COUNTS, failed: 1 };

const head = ({ id, customId }: RequestName): string =>
	`{"id":${JSON.stringify(id)},"custom_id":${JSON.stringify(customId)}`;

/** The answer byte for byte, but on one line. */
function responseLine(
	name: RequestName,
	{ job, status, body }: { job: string; status: number; body: JsonText },
): JsonText {
	const before = `${head(name)},"response":{"status_code":${status},"request_id":${JSON.stringify(job)},"body":`;
	return asOne(piecesOf(before, onOneLine(body), '},"error":null}'));
}

/** No text within JSON contains a line break. */
function onOneLine(body: JsonText): JsonText {
	if (typeof body === "string") return body.replace(/[\r\n]/g, " ");
	return body.map((block) => (block.includes(LF) || block.includes(CR) ? block.map(withoutBreak) : block));
}

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];
const withoutBreak = (byte: number): number => (byte === LF || byte === CR ? SPACE : byte);

function tokensIn(text: string): Tokens {
	const { input = 0, output = 0 } = usageIn(text) ?? {};
	const { cached = 0, reasoning = 0 } = usageDetailsIn(text);
	return { input, cached, output, reasoning };
}
