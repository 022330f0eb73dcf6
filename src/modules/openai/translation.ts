/** `/openai/*` (D32): the job for a request and the body for its result, as JSON text (D5). */
import { scanJson } from "../../kernel/lib/json/json-scan.ts";
import { splitOutput } from "../../kernel/lib/json/chunk-split.ts";
import {
	asOne,
	BLOCK_BYTES,
	cut,
	type JsonBlocks,
	type JsonText,
	piecesOf,
	sizeOf,
	stringOf,
} from "../../kernel/lib/json/json-text.ts";
import type { SubmissionOptions } from "../../kernel/core/jobs/submission.ts";

/** Clients give up after that. */
const OPENAI_TTL_MS = 300_000;

export const OPENAI_SUBMISSION_OPTIONS: Readonly<SubmissionOptions> = {
	lowPriority: false,
	s3Config: false,
	ttlMs: OPENAI_TTL_MS,
};

/**
 * `route`: path after `/openai`, with its slash. Without body no `openai_input` (protocol C.1). `type`: what the client
 * sent, if that was not JSON.
 */
export function openaiInput(route: string, body: JsonText | undefined, type?: string): JsonText {
	const sent = type === undefined ? "" : `,"openai_content_type":${JSON.stringify(type)}`;
	const head = `{"openai_route":${JSON.stringify(route)}${sent}`;
	return body === undefined ? `${head}}` : asOne(piecesOf(`${head},"openai_input":`, body, "}"));
}

/**
 * The element of a one-element list, else the value. Undefined without output or for an empty list: then the chunks are
 * the result. Yields after each block.
 */
export function* singleResult(output: JsonText | undefined): Generator<void, JsonText | undefined> {
	if (output === undefined) return undefined;
	if (typeof output !== "string") return yield* onlyElement(output);
	const elements = elementsOf(output);
	if (elements === undefined) return output;
	return elements.length > 1 ? output : elements[0];
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
/** No white space of JSON is greater. */
const SPACE = 0x20;

/** The elements of a list, as views of the blocks; undefined after each block. */
export function* elementsIn(blocks: JsonBlocks): Generator<JsonBlocks | undefined> {
	let depth = 0;
	let quoted = false;
	let escaped = false;
	let offset = 0;
	let start = 1;
	for (const block of blocks) {
		for (let at = 0; at < block.length; at += 1) {
			const byte = block[at];
			if (quoted) {
				if (escaped) escaped = false;
				else if (byte === BACKSLASH) escaped = true;
				else if (byte === QUOTE) quoted = false;
				continue;
			}
			if (byte === QUOTE) quoted = true;
			else if (byte === LIST || byte === OBJECT) depth += 1;
			else if (byte === LIST_END || byte === OBJECT_END) depth -= 1;
			if (depth > 1 || (depth === 1 && byte !== COMMA)) continue;
			const element = cut(blocks, start, offset + at);
			if (element.some((part) => part.some((each) => each > SPACE))) yield element;
			if (depth === 0) return;
			start = offset + at + 1;
		}
		offset += block.length;
		yield;
	}
}

function* onlyElement(blocks: JsonBlocks): Generator<void, JsonText | undefined> {
	if (!isList(blocks)) return blocks;
	let only: JsonBlocks | undefined;
	for (const element of elementsIn(blocks)) {
		if (!element) yield;
		else if (only) return blocks;
		else only = element;
	}
	return only;
}

function isList(blocks: JsonBlocks): boolean {
	return blocks.find(({ length }) => length > 0)?.[0] === LIST;
}

/** Results of non-streaming workers as outputs of chunks; undefined after each block. */
export function* resultAsChunks(output: JsonText | undefined): Generator<string | undefined> {
	if (output === undefined) return;
	if (typeof output === "string") yield* elementsOf(output) ?? [output];
	else if (!isList(output)) yield* piecesOfValue(output);
	else
		for (const element of elementsIn(output))
			if (element === undefined) yield element;
			else yield* piecesOfValue(element);
}

/** A large string becomes several that follow each other, with undefined between them. */
function* piecesOfValue(blocks: JsonBlocks): Generator<string | undefined> {
	const first = blocks.flatMap((block) => block.find((byte) => byte > SPACE) ?? [])[0];
	if (first !== QUOTE || sizeOf(blocks) <= BLOCK_BYTES) return yield stringOf(blocks).trim();
	const text = new Uint8Array(sizeOf(blocks));
	let size = 0;
	for (const block of blocks) {
		text.set(block, size);
		size += block.length;
	}
	const start = text.indexOf(QUOTE);
	const steps = splitOutput(text.subarray(start, text.lastIndexOf(QUOTE) + 1), BLOCK_BYTES);
	let step = steps.next();
	for (; !step.done; step = steps.next()) yield;
	const split = step.value;
	for (const piece of split.ok ? split.pieces : [stringOf(blocks).trim()]) yield* [piece, undefined];
}

/** A stored chunk is `{"output":...,"metrics":...}`. */
export function outputOf(chunk: string): string {
	const bytes = new TextEncoder().encode(chunk);
	const scan = scanJson(bytes, { members: ["output"] });
	const output = scan.ok ? scan.members["output"] : undefined;
	if (output === undefined) return "null";
	return stringOf([bytes.subarray(output.start, output.end)]);
}

/** Undefined for other values than arrays. `text` must be valid JSON without leading white space. */
export function elementsOf(text: string): string[] | undefined {
	if (text[0] !== "[") return undefined;
	const blocks = [new TextEncoder().encode(text)];
	return [...elementsIn(blocks)].flatMap((element) => (element ? [stringOf(element).trim()] : []));
}
