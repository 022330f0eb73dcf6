/**
 * Reads request bodies: capped before they are buffered (D3), scanned as JSON while they arrive,
 * never parsed into values (D5).
 */
import { ApiError } from "../core/errors.ts";
import { jsonScanner } from "../core/json/json-scan.ts";
import type { JsonMember, JsonScan } from "../core/json/json-scan.ts";
import { BLOCK_BYTES, LARGE_BYTES, cut, release } from "../core/json/json-text.ts";
import type { JsonText } from "../core/json/json-text.ts";
import type { Call } from "./call.ts";

/** Bytes scanned in one turn of the event loop at most, so that others get theirs. */
const TURN_BYTES = 262_144;

/** A part of a body, such as a member of its object, as offsets. */
type Part = Pick<JsonMember, "start" | "end">;

/** A body, whole, with what the scan found. */
export interface ScannedBody {
	/** All of it: one block when it is small. */
	blocks: readonly Buffer[];
	/** Its bytes. */
	size: number;
	scan: JsonScan;
	/** Text of a part as it stands in the body; undefined for none. */
	text(part: Part | undefined): string | undefined;
	/** Its bytes in one. */
	bytes(part: Part): Buffer;
	/** Its text, as blocks of this body when it is large. */
	payload(part: Part | undefined): JsonText | undefined;
}

/** Options of the scan: members to find, deepest nesting, longest integer. */
export interface ScanOptions {
	members: readonly string[];
	maxDepth?: number;
	maxDigits?: number;
}

/** Thrown when a body exceeds its cap; `size` is undefined when the client did not say it. */
export class BodyTooLarge extends ApiError {
	readonly size: number | undefined;
	constructor(size: number | undefined, limit: number) {
		super("body_too_large", { size: size ?? `over ${limit}`, limit });
		this.size = size;
	}
}

/**
 * The body as JSON text, scanned. Throws {@link BodyTooLarge}; a fault in the JSON is in `scan`.
 */
export function readJson(call: Call, options: ScanOptions): Promise<ScannedBody> {
	const scanner = jsonScanner(options);
	return received(
		call,
		(piece) => scanner.push(piece),
		(blocks, size) => scanned(blocks, size, scanner.finish()),
	);
}

/** The body in one, of which nothing was looked at. Throws {@link BodyTooLarge}. */
export function readBytes(call: Call): Promise<Buffer> {
	return received(
		call,
		() => {},
		(blocks) => (blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks)),
	);
}

/** A part of a body that is JSON text by itself, scanned. */
export function scanBytes(bytes: Buffer, options: ScanOptions): ScannedBody {
	const scanner = jsonScanner(options);
	scanner.push(bytes);
	return scanned([bytes], bytes.length, scanner.finish());
}

/**
 * Reads a body up to its cap: `look` sees each piece, `whole` makes something of all of them and
 * their size.
 */
function received<T>(
	call: Call,
	look: (piece: Buffer) => void,
	whole: (blocks: Buffer[], size: number) => T,
): Promise<T> {
	const { req, maxBody } = call;
	const declared = req.headers["content-length"];
	const size = declared === undefined ? undefined : Number(declared);
	if (size !== undefined && size > maxBody) return Promise.reject(new BodyTooLarge(size, maxBody));
	const gathered = gather(size);
	// Emptied at the end: a request lives with its listeners until it is answered, and who can settle
	// a promise holds on to its value.
	let reading: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
	const { promise } = reading;
	let length = 0;
	let turn = 0;

	function fail(error: Error): void {
		reading?.reject(error);
		reading = undefined;
	}

	function ended(): void {
		reading?.resolve(whole(gathered.blocks(), length));
		reading = undefined;
	}

	req.on("data", (piece: Buffer) => {
		length += piece.length;
		if (length > maxBody) {
			gathered.drop();
			req.removeAllListeners("data");
			req.resume();
			return fail(new BodyTooLarge(undefined, maxBody));
		}
		look(piece);
		gathered.add(piece);
		turn += piece.length;
		if (turn < TURN_BYTES) return;
		turn = 0;
		req.pause();
		setImmediate(() => req.resume());
	});
	// One that announces no body has ended before anybody could listen.
	if (req.readableEnded) ended();
	req.on("end", ended);
	req.on("error", fail);
	req.on("close", () => {
		if (!req.complete)
			fail(
				new ApiError("bad_json", {
					why: "the connection closed before the body was whole.",
					type: "",
				}),
			);
	});
	return promise;
}

/** What can be had of text in blocks and of what the scan found in it. */
function scanned(blocks: readonly Buffer[], size: number, scan: JsonScan): ScannedBody {
	const encoding = scan.ok && scan.ascii ? "latin1" : "utf8";
	const bytes = ({ start, end }: Part): Buffer => {
		const within = cut(blocks, start, end);
		return within.length === 1 ? within[0]! : Buffer.concat(within);
	};
	const text = (part: Part | undefined): string | undefined => {
		if (!part) return undefined;
		return blocks.length === 1
			? blocks[0]!.toString(encoding, part.start, part.end)
			: bytes(part).toString(encoding);
	};
	const payload = (part: Part | undefined): JsonText | undefined =>
		part && part.end - part.start >= LARGE_BYTES ? cut(blocks, part.start, part.end) : text(part);
	return { blocks, size, scan, text, bytes, payload };
}

/**
 * Gathers the pieces of a body: a small one in one block, a large one in blocks of {@link
 * BLOCK_BYTES}. `size` is that of the body, where it is known.
 */
function gather(size: number | undefined): {
	add(piece: Buffer): void;
	blocks(): Buffer[];
	drop(): void;
} {
	const full: Buffer[] = [];
	let small: Buffer[] | undefined = [];
	let bytes = 0;
	let open: Buffer | undefined;
	let filled = 0;

	function fill(piece: Buffer): void {
		for (let at = 0; at < piece.length; ) {
			if (!open) {
				const left = size === undefined ? BLOCK_BYTES : size - full.length * BLOCK_BYTES;
				open = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, left));
			}
			const copied = piece.copy(open, filled, at);
			at += copied;
			filled += copied;
			if (filled === open.length) close();
		}
		// It came with memory of its own, which a body of many pieces should not wait for garbage
		// collection to reuse.
		if (piece.buffer.byteLength === piece.length) release([piece]);
	}

	function close(): void {
		if (open) full.push(open.subarray(0, filled));
		open = undefined;
		filled = 0;
	}

	return {
		add(piece) {
			bytes += piece.length;
			if (!small) return fill(piece);
			small.push(piece);
			if (bytes < LARGE_BYTES) return;
			for (const each of small) fill(each);
			small = undefined;
		},
		blocks() {
			close();
			const whole =
				small === undefined
					? full.splice(0)
					: small.length === 1
						? small
						: [Buffer.concat(small, bytes)];
			// The request holds on to this until it is answered, which may take minutes (D40).
			small = undefined;
			return whole;
		},
		drop() {
			full.length = 0;
			small = undefined;
			open = undefined;
		},
	};
}

/** The 400 for a body that is not a JSON object; names the content type if it was not JSON (D4). */
export function notAnObject(call: Call, scan: JsonScan): ApiError {
	const type = call.req.headers["content-type"];
	const hint =
		type !== undefined && !/json/i.test(type)
			? `; its Content-Type says '${type.slice(0, 100)}'`
			: "";
	const why = scan.ok
		? `it is ${scan.kind === "array" ? "an array" : `a ${scan.kind}`}.`
		: scan.fault.message;
	return new ApiError("bad_json", { why, type: hint });
}
