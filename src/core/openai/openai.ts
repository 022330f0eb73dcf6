/** `/openai/*` (D32): the job for a request and the body for its result. JSON text is kept (D5). */
import { scanJson } from "../json/json-scan.ts";
import { asOne, piecesOf, stringOf } from "../json/json-text.ts";
import type { JsonText } from "../json/json-text.ts";
import type { SubmissionOptions } from "../submission.ts";

/** Maximum wait for a worker, ms: clients give up after that. */
export const OPENAI_TTL_MS = 300_000;

/** No webhook; the endpoint's execution timeout. */
export const OPENAI_SUBMISSION_OPTIONS: Readonly<SubmissionOptions> = {
	lowPriority: false,
	s3Config: false,
	ttlMs: OPENAI_TTL_MS,
};

/** `route`: path after `/openai`, with its slash. No body: no `openai_input` (protocol C.1). */
export function openaiInput(route: string, body: JsonText | undefined): JsonText {
	const head = `{"openai_route":${JSON.stringify(route)}`;
	return body === undefined ? `${head}}` : asOne(piecesOf(`${head},"openai_input":`, body, "}"));
}

/**
 * The body for a result: the element of a one-element list, else the value. Undefined without
 * output or for an empty list: then the chunks are the result.
 */
export function singleResult(output: JsonText | undefined): string | undefined {
	if (output === undefined) return undefined;
	const text = stringOf(output);
	const elements = elementsOf(text);
	if (elements === undefined) return text;
	return elements.length > 1 ? text : elements[0];
}

/** The result of a non-streaming worker as outputs of chunks. */
export function resultAsChunks(output: JsonText | undefined): readonly string[] {
	if (output === undefined) return [];
	const text = stringOf(output);
	return elementsOf(text) ?? [text];
}

/** The `output` of a stored chunk, `{"output":...,"metrics":...}`. */
export function outputOf(chunk: string): string {
	const bytes = new TextEncoder().encode(chunk);
	const scan = scanJson(bytes, { members: ["output"] });
	const output = scan.ok ? scan.members["output"] : undefined;
	if (output === undefined) return "null";
	return stringOf([bytes.subarray(output.start, output.end)]);
}

/**
 * JSON texts of an array's elements; undefined for other values. `text` must be valid JSON without
 * leading white space.
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

/** Offset of the closing quote of the string at `start`. */
function endOfString(text: string, start: number): number {
	let at = start + 1;
	while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
	return at;
}
