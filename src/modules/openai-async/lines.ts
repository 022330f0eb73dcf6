/** Lines of a batch's input file (D57). */
import { type JsonMember, type JsonScan, JsonScanner } from "../../kernel/lib/json/json-scan.ts";
import { LARGE_BYTES, type JsonText, BLOCK_BYTES } from "../../kernel/lib/json/json-text.ts";
import type { InputFault, Place } from "./progress.ts";

/** Bound of a line, as of the body of a request. */
export const LINE_BYTES = 20 * 2 ** 20;

const CUSTOM_ID_LENGTH = 512;
const NEWLINE = 0x0a;
const MARK = [0xef, 0xbb, 0xbf];

/** Bounds of what a worker's parser takes (D4). */
const DEPTH = { maxDepth: 500, maxDigits: 4000 };

export interface Line extends Place {
	/** Its bytes without the line break; undefined if there are more than {@link LINE_BYTES}. */
	bytes: Uint8Array | undefined;
	/** Where the next line begins. */
	next: Place;
}

/** Lines that are not blank, from one place on. `pieces` begin there. */
export async function* linesFrom(pieces: AsyncIterable<Uint8Array>, from: Place): AsyncGenerator<Line> {
	let { line, byte } = from;
	let kept: Uint8Array[] = [];
	let size = 0;

	function take(end: number): Line | undefined {
		const bytes = size > LINE_BYTES ? undefined : withoutMark(kept, byte);
		const found = { line, byte, bytes, next: { line: line + 1, byte: end } };
		kept = [];
		size = 0;
		({ line, byte } = found.next);
		return bytes && isBlank(bytes) ? undefined : found;
	}

	let at = byte;
	for await (const piece of pieces) {
		for (let start = 0; start < piece.length; ) {
			const found = piece.indexOf(NEWLINE, start);
			const end = found < 0 ? piece.length : found;
			size += end - start;
			if (size <= LINE_BYTES) kept.push(piece.subarray(start, end));
			else kept = [];
			if (found < 0) break;
			start = found + 1;
			const whole = take(at + start);
			if (whole) yield whole;
		}
		at += piece.length;
	}
	const last = size > 0 ? take(at) : undefined;
	if (last) yield last;
}

function withoutMark(pieces: readonly Uint8Array[], byte: number): Uint8Array {
	const bytes = pieces.length === 1 ? pieces[0]! : new Uint8Array(Buffer.concat(pieces));
	return byte === 0 && MARK.every((each, at) => bytes[at] === each) ? bytes.subarray(MARK.length) : bytes;
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);

export interface BatchRequest {
	customId: string;
	/** Body of the request as it is in the file (D5). */
	body: JsonText;
}

/** The request in a line, or the first fault of the line. */
export async function requestIn({ line, bytes }: Line, path: string): Promise<BatchRequest | InputFault> {
	const fault = (code: string, message: string, param: string | null = null): InputFault => ({
		...{ code, line, message, param },
	});
	if (!bytes) return fault("invalid_request", `The line has more than ${LINE_BYTES} bytes.`);
	const scan = await scanned(bytes, ["custom_id", "method", "url", "body"]);
	if (!scan.ok || scan.kind !== "object") return fault("invalid_json_line", "The line is not a JSON object.");
	const { custom_id: id, method, url, body } = scan.members;
	const text = (member: JsonMember | undefined): string | undefined =>
		member?.kind === "string" ? (JSON.parse(textOf(bytes, member)) as string) : undefined;
	const customId = text(id);
	if (customId === undefined || customId === "")
		return fault("invalid_request", "The member custom_id must be a text that is not empty.", "custom_id");
	if (customId.length > CUSTOM_ID_LENGTH)
		return fault("invalid_request", `The member custom_id has more than ${CUSTOM_ID_LENGTH} characters.`, "custom_id");
	if (text(method) !== "POST") return fault("invalid_request", "The member method must be POST.", "method");
	if (text(url) !== path)
		return fault("url_mismatch", `The member url must be ${path}, the endpoint of the batch.`, "url");
	if (body?.kind !== "object") return fault("invalid_request", "The member body must be an object.", "body");
	const part = bytes.subarray(body.start, body.end);
	const inner = await scanned(part, ["stream", "background"]);
	if (!inner.ok)
		return fault("invalid_request", "The member body is nested too deep or has too long a number.", "body");
	if (inner.members["stream"]?.kind === "true")
		return fault("invalid_request", "The member body.stream must not be true: answers go into a file.", "body.stream");
	if (inner.members["background"]?.kind === "true") {
		const message = "The member body.background must not be true: the answer would be one that still waits.";
		return fault("invalid_request", message, "body.background");
	}
	return { customId, body: part.length >= LARGE_BYTES ? [part.slice()] : textOf(bytes, body) };
}

/** Lets other work run within a long line. */
async function scanned(bytes: Uint8Array, members: readonly string[]): Promise<JsonScan> {
	const scanner = new JsonScanner({ members, ...DEPTH });
	for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
		if (at > 0) await new Promise((resolve) => setImmediate(resolve));
		scanner.push(bytes.subarray(at, at + BLOCK_BYTES));
	}
	return scanner.finish();
}

function textOf(bytes: Uint8Array, { start, end }: Pick<JsonMember, "start" | "end">): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8", start, end);
}
