/**
 * Makes chunks of a streaming answer. The kit posts a chunk at once unless a post is in flight, and then those that
 * wait together (`ChunkQueue`), so that a token is not a commit of the service.
 */
import { JobReturn } from "../../job-return.ts";
import { RawJson } from "../../raw-json.ts";
import { StreamOutput } from "../../stream-output.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { JobFailure } from "../job-failure.ts";
import { failureIn } from "../mapping/condition.ts";
import { parseExact } from "../mapping/exact-json.ts";
import type { StreamMapping } from "../mapping/mapping.ts";
import { atPointer, textOf } from "../mapping/template.ts";
import { ndjsonEvents, sseEvents } from "./stream-events.ts";

/** Maximum size of a chunk as JSON, bytes (the service's limit is 1 MB). */
const MAX_CHUNK = 1_000_000;
/** Characters of a piece of text, each of at most 6 bytes as JSON. */
const MAX_TEXT = 160_000;

/**
 * Yields the chunks, then the job's output, of at most `maxBytes`. Throws {@link JobFailure}, and {@link JobReturn} for
 * a stream that ends without its end; what the connection throws passes through.
 */
export async function* chunksOf(
	answer: Exchange,
	stream: StreamMapping,
	maxBytes: number,
): AsyncGenerator<RawJson | StreamOutput, void> {
	const output = outputOf(stream, maxBytes, answer.headers["content-type"]);
	try {
		for await (const value of valuesOf(answer.body, stream)) {
			const text = JSON.stringify(value);
			if (Buffer.byteLength(text) > MAX_CHUNK)
				throw new JobFailure(
					`A chunk of the stream is larger than ${MAX_CHUNK} bytes: select less of each event with http.stream.at.`,
				);
			output.add(value, text);
			yield new RawJson(text);
		}
		yield new StreamOutput(output.text());
	} finally {
		answer.close();
	}
}

async function* valuesOf(body: AsyncIterable<Buffer>, stream: StreamMapping): AsyncGenerator<unknown, void> {
	if (stream.as === "sse" || stream.as === "ndjson") return yield* eventValues(body, stream);
	yield* stream.as === "text" ? textPieces(body) : base64Pieces(body);
}

async function* eventValues(body: AsyncIterable<Buffer>, stream: StreamMapping): AsyncGenerator<unknown, void> {
	for await (const { data, text } of stream.as === "sse" ? sseEvents(body) : ndjsonEvents(body)) {
		if (data === stream.end) {
			if (stream.raw) yield text;
			return;
		}
		const value = eventValue(data, stream.as);
		const rule = stream.error === undefined ? [] : [{ at: stream.error, in: undefined, message: stream.error }];
		const failure = failureIn(rule, value, data);
		if (failure !== undefined) throw new JobFailure(failure);
		const chunk = stream.raw ? text : atPointer(value, stream.at ?? "");
		if (chunk !== undefined) yield chunk;
	}
	if (stream.end !== undefined)
		throw new JobReturn(`The stream ended without its last event, ${stream.end}.`, { loss: true });
}

function eventValue(data: string, as: StreamMapping["as"]): unknown {
	try {
		return parseExact(data);
	} catch {
		if (as === "sse") return data;
		throw new JobFailure(`A line of the stream is not JSON: ${data}`);
	}
}

async function* textPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
	const decoder = new TextDecoder();
	for await (const piece of pieces) yield* shortTexts(decoder.decode(piece, { stream: true }));
	yield* shortTexts(decoder.decode());
}

/** Does not split a pair of surrogates. */
function* shortTexts(text: string): Generator<string, void> {
	for (let at = 0; at < text.length; ) {
		let end = Math.min(at + MAX_TEXT, text.length);
		if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end -= 1;
		yield text.slice(at, end);
		at = end;
	}
}

/** base64 of whole groups of 3 bytes, so that the chunks join. */
async function* base64Pieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
	let rest: Buffer = Buffer.alloc(0);
	for await (const piece of pieces) {
		const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
		const whole = bytes.length - (bytes.length % 3);
		rest = bytes.subarray(whole);
		if (whole > 0) yield bytes.toString("base64", 0, whole);
	}
	if (rest.length > 0) yield rest.toString("base64");
}

/** Collects the job's output: all chunks, their joined text, or the last one. */
function outputOf(
	{ output, as }: StreamMapping,
	maxBytes: number,
	contentType = "application/octet-stream",
): { add: (value: unknown, text: string) => void; text: () => string } {
	let kept: string[] = [];
	let length = 0;
	return {
		add(value, text) {
			const piece = output === "text" ? textOf(value) : text;
			if (output === "last") kept = [];
			kept.push(piece);
			length = Buffer.byteLength(piece) + (output === "last" ? 0 : length);
			if (length > maxBytes)
				throw new JobFailure(`The stream is larger than ${maxBytes} bytes (http.answer.maxBytes).`);
		},
		text() {
			if (output === "chunks") return `[${kept.join(",")}]`;
			if (output === "last") return kept[0] ?? "null";
			const joined = kept.join("");
			if (as !== "binary") return JSON.stringify(joined);
			return JSON.stringify({ contentType, bytes: Buffer.byteLength(joined, "base64"), data: joined });
		},
	};
}
