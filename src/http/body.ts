/** Reads request bodies: bounded (D3), scanned as JSON while they arrive, not parsed (D5). */
import { ApiError } from "../core/errors.ts";
import { jsonScanner } from "../core/json/json-scan.ts";
import type { JsonMember, JsonScan } from "../core/json/json-scan.ts";
import { BLOCK_BYTES, LARGE_BYTES, cut, release } from "../core/json/json-text.ts";
import type { JsonText } from "../core/json/json-text.ts";
import type { Call } from "./call.ts";

/** Most bytes scanned in one turn of the event loop. */
const TURN_BYTES = 262_144;

/** Offsets of a part of a body, such as a member of its object. */
type Part = Pick<JsonMember, "start" | "end">;

/** A complete body with the result of its scan. */
export interface ScannedBody {
	/** The bytes; one block if small. */
	blocks: readonly Buffer[];
	/** In bytes. */
	size: number;
	scan: JsonScan;
	/** The text of a part; undefined for none. */
	text(part: Part | undefined): string | undefined;
	/** The bytes of a part as one buffer. */
	bytes(part: Part): Buffer;
	/** The text of a part, as blocks of this body if large. */
	payload(part: Part | undefined): JsonText | undefined;
}

/** Options of the scan: members to find, deepest nesting, longest integer. */
export interface ScanOptions {
	members: readonly string[];
	maxDepth?: number;
	maxDigits?: number;
}

/** Thrown for a body over its bound; `size` is undefined if the client did not declare it. */
export class BodyTooLarge extends ApiError {
	readonly size: number | undefined;
	constructor(size: number | undefined, limit: number) {
		super("body_too_large", { size: size ?? `over ${limit}`, limit });
		this.size = size;
	}
}

/** The scanned body. Throws {@link BodyTooLarge}; a fault in the JSON is in `scan`. */
export function readJson(call: Call, options: ScanOptions): Promise<ScannedBody> {
	const scanner = jsonScanner(options);
	return received(
		call,
		(piece) => scanner.push(piece),
		(blocks, size) => scanned(blocks, size, scanner.finish()),
	);
}

/** The body as one buffer, not scanned. Throws {@link BodyTooLarge}. */
export function readBytes(call: Call): Promise<Buffer> {
	return received(
		call,
		() => {},
		(blocks) => (blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks)),
	);
}

/** Scans a part of a body that is JSON text. */
export function scanBytes(bytes: Buffer, options: ScanOptions): ScannedBody {
	const scanner = jsonScanner(options);
	scanner.push(bytes);
	return scanned([bytes], bytes.length, scanner.finish());
}

/** Reads a body up to its bound: `onPiece` gets each piece, `finish` returns the result. */
function received<T>(
	call: Call,
	onPiece: (piece: Buffer) => void,
	finish: (blocks: Buffer[], size: number) => T,
): Promise<T> {
	const { req, maxBody } = call;
	const declared = req.headers["content-length"];
	const size = declared === undefined ? undefined : Number(declared);
	if (size !== undefined && size > maxBody) return Promise.reject(new BodyTooLarge(size, maxBody));
	const gathered = gather(size);
	// Released at the end: a request keeps its listeners until it is answered, which may take minutes,
	// and the resolvers of a promise keep its value.
	let reading: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
	const { promise } = reading;
	let length = 0;
	let turn = 0;

	function fail(error: Error): void {
		reading?.reject(error);
		reading = undefined;
	}

	function ended(): void {
		reading?.resolve(finish(gathered.blocks(), length));
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
		onPiece(piece);
		gathered.add(piece);
		turn += piece.length;
		if (turn < TURN_BYTES) return;
		turn = 0;
		req.pause();
		setImmediate(() => req.resume());
	});
	// A request without a body has already ended.
	if (req.readableEnded) ended();
	req.on("end", ended);
	req.on("error", fail);
	req.on("close", () => {
		if (!req.complete)
			fail(
				new ApiError("bad_json", {
					why: "the connection closed before the end of the body.",
					type: "",
				}),
			);
	});
	return promise;
}

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
 * Collects the pieces of a body: a small one in one block, a large one in blocks of {@link
 * BLOCK_BYTES}. `size`: of the body, if known.
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
		// A piece with its own memory: reused now rather than after a garbage collection.
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
			const blocks =
				small === undefined
					? full.splice(0)
					: small.length === 1
						? small
						: [Buffer.concat(small, bytes)];
			// The request keeps this closure until it is answered, which may take minutes (D40).
			small = undefined;
			return blocks;
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
