/**
 * `/openai/*` as pure rules (D32): the job that a request becomes, and what its result is as a
 * body. Texts stay as they came (D5).
 */
import { scanJson } from "../json/json-scan.ts";
import { asOne, piecesOf, stringOf } from "../json/json-text.ts";
import type { JsonText } from "../json/json-text.ts";
import type { SubmissionOptions } from "../submission.ts";

/** How long such a job waits for a worker, ms: nobody waits longer for a first word. */
export const OPENAI_TTL_MS = 300_000;

/** What such a job wishes: no webhook, the endpoint's own execution timeout. */
export const OPENAI_SUBMISSION_OPTIONS: Readonly<SubmissionOptions> = {
	lowPriority: false,
	s3Config: false,
	ttlMs: OPENAI_TTL_MS,
};

/**
 * The job's input. `route` is the path behind `/openai`, with its slash; a request without a body
 * has no `openai_input` (protocol C.1).
 */
export function openaiInput(route: string, body: JsonText | undefined): JsonText {
	const head = `{"openai_route":${JSON.stringify(route)}`;
	return body === undefined ? `${head}}` : asOne(piecesOf(`${head},"openai_input":`, body, "}"));
}

/**
 * The body of a result that says all by itself: the element of a list of one, or what is no list.
 * Undefined where the chunks have to tell: no output, or an empty list.
 */
export function singleResult(output: JsonText | undefined): string | undefined {
	if (output === undefined) return undefined;
	const text = stringOf(output);
	const elements = elementsOf(text);
	if (elements === undefined) return text;
	return elements.length > 1 ? text : elements[0];
}

/**
 * The result of a worker that did not stream, as the outputs of the chunks that it might have sent.
 */
export function resultAsChunks(output: JsonText | undefined): readonly string[] {
	if (output === undefined) return [];
	const text = stringOf(output);
	return elementsOf(text) ?? [text];
}

/** The `output` of a chunk as it is stored, `{"output":...,"metrics":...}`. */
export function outputOf(chunk: string): string {
	const bytes = new TextEncoder().encode(chunk);
	const scan = scanJson(bytes, { members: ["output"] });
	const output = scan.ok ? scan.members["output"] : undefined;
	if (output === undefined) return "null";
	return stringOf([bytes.subarray(output.start, output.end)]);
}

/**
 * The texts of the elements of a JSON array, without the white space around them; undefined for any
 * other value. `text` must be valid JSON without white space before it.
 */
export function elementsOf(text: string): string[] | undefined {
	if (text[0] !== "[") return undefined;
	const elements: string[] = [];
	let depth = 0;
	let start = 1;
	for (let at = 0; at < text.length; at += 1) {
		const mark = text[at]!;
		if (mark === '"') at = endOfString(text, at);
		else if (mark === "[" || mark === "{") depth += 1;
		else if (mark === "]" || mark === "}") depth -= 1;
		if (depth > 1 || (depth === 1 && mark !== ",")) continue;
		const element = text.slice(start, at).trim();
		if (element !== "") elements.push(element);
		if (depth === 0) break;
		start = at + 1;
	}
	return elements;
}

/** Where the string ends that begins at `start`: the place of its closing quote. */
function endOfString(text: string, start: number): number {
	let at = start + 1;
	while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
	return at;
}
