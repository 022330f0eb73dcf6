/**
 * Answers that are no JSON (D32, protocol C.2), such as speech and subtitles: a worker's output
 * `{contentType, bytes, data}` is answered as these bytes.
 */
import { cut, type JsonBlocks, type JsonText, LARGE_BYTES, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";
import { type JsonScan, JsonScanner } from "../../kernel/lib/json/json-scan.ts";
import { type Call, drained } from "../../kernel/http/exchange/call.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import { mustRead } from "../../kernel/http/exchange/answer.ts";

export interface FileAnswer {
	type: string;
	bytes: number;
	/** base64. */
	data: JsonBlocks;
}

const MEMBERS = ["contentType", "bytes", "data"] as const;
/** A media type with parameters. */
const TYPE = /^[\w.+-]+\/[\w.+-]+(?:;[\t\x20-\x7e]*)?$/;
const TYPE_LENGTH = 200;

/** Bytes at both ends of an output, which have the members beside the data. */
const EDGE_BYTES = 1024;

/** Undefined for other outputs. Yields after each block. */
export function* fileAnswer(output: JsonText): Generator<void, FileAnswer | undefined> {
	const blocks = typeof output === "string" ? [new TextEncoder().encode(output)] : output;
	const size = sizeOf(blocks);
	const edges = [cut(blocks, 0, EDGE_BYTES), cut(blocks, size - EDGE_BYTES, size)];
	if (!edges.some((edge) => stringOf(edge).includes('"contentType"'))) return undefined;
	const scanner = new JsonScanner({ members: MEMBERS, others: true });
	for (const block of blocks) {
		scanner.push(block);
		yield;
	}
	return yield* found(blocks, scanner.finish());
}

function* found(blocks: JsonBlocks, scan: JsonScan): Generator<void, FileAnswer | undefined> {
	if (!scan.ok || scan.others!.some((name) => name !== "name")) return undefined;
	const { contentType, bytes: size, data } = scan.members;
	if (contentType?.kind !== "string" || size?.kind !== "number" || data?.kind !== "string") return undefined;
	if (contentType.end - contentType.start > TYPE_LENGTH) return undefined;
	const type = JSON.parse(stringOf(cut(blocks, contentType.start, contentType.end))) as string;
	const bytes = Number(stringOf(cut(blocks, size.start, size.end)));
	const base64 = cut(blocks, data.start + 1, data.end - 1);
	if (!TYPE.test(type) || (yield* decodedSize(base64)) !== bytes) return undefined;
	return { type, bytes, data: base64 };
}

/** Bytes that a text stands for; undefined for what is not base64. */
export function* decodedSize(base64: JsonBlocks): Generator<void, number | undefined> {
	let characters = 0;
	let padding = 0;
	for (const block of base64) {
		for (const byte of block) {
			if (byte === PADDING) padding += 1;
			else if (padding > 0 || !IN_ALPHABET[byte]) return undefined;
			else characters += 1;
		}
		yield;
	}
	return padding > 2 || characters % 4 === 1 ? undefined : Math.floor((characters * 3) / 4);
}

const PADDING = 0x3d;
const IN_ALPHABET = new Uint8Array(256);
for (const each of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
	IN_ALPHABET[each] = 1;

/** Sends the bytes as fast as the client reads them. A browser must not run what a worker has answered. */
export async function answerFile(call: Call, { type, bytes, data }: FileAnswer): Promise<void> {
	const { res, caller } = call;
	res.writeHead(200, {
		"Content-Type": type,
		"Content-Length": bytes,
		"Content-Security-Policy": "sandbox; default-src 'none'",
		"X-Content-Type-Options": "nosniff",
		"Cache-Control": "no-store",
	});
	if (sizeOf(data) > LARGE_BYTES) mustRead(call);
	for (const piece of decodedPieces(data)) {
		if (!res.write(piece)) await drained(call);
		if (caller.disconnected) return;
	}
	res.end();
}

/** The bytes that base64 stands for. */
export function* decodedPieces(base64: JsonBlocks): Generator<Buffer> {
	let rest = "";
	for (const block of base64) {
		const text = rest + Buffer.from(block.buffer, block.byteOffset, block.length).toString("latin1");
		const whole = text.length - (text.length % 4);
		rest = text.slice(whole);
		yield Buffer.from(text.slice(0, whole), "base64");
	}
	yield Buffer.from(rest, "base64");
}

/** Whether the output was a file, which is answered then. */
export async function answeredAsFile(call: Call, output: JsonText): Promise<boolean> {
	const file = await inSlices(fileAnswer(output));
	if (file) await answerFile(call, file);
	return file !== undefined;
}
