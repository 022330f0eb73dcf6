/** Reads request bodies: bounded (D3); scanned as JSON on arrival, not parsed (D5). */
import { ApiError } from "../core/errors.ts";
import { type JsonMember, type JsonScan, JsonScanner } from "../core/json/json-scan.ts";
import { BLOCK_BYTES, cut, type JsonText, LARGE_BYTES, release } from "../core/json/json-text.ts";
import type { Call } from "./call.ts";
import { FREE_BYTES, hold } from "./memory/call-memory.ts";

/** Bytes scanned per turn of the event loop. */
const TURN_BYTES = 262_144;

/** Byte offsets within a body. */
type Part = Pick<JsonMember, "start" | "end">;

/** A complete body and its scan. */
export interface ScannedBody {
	/** One block if small. */
	blocks: readonly Buffer[];
	/** Bytes. */
	size: number;
	scan: JsonScan;
	text(part: Part | undefined): string | undefined;
	/** One contiguous buffer. */
	bytes(part: Part): Buffer;
	/** Returns blocks of this body if large, else as a string. */
	payload(part: Part | undefined): JsonText | undefined;
}

/** `members`: those to find; `maxDigits`: of an integer. */
export interface ScanOptions {
	members: readonly string[];
	maxDepth?: number;
	maxDigits?: number;
}

/** A body over its bound; `size` is undefined if not declared. */
export class BodyTooLarge extends ApiError {
	readonly size: number | undefined;
	constructor(size: number | undefined, limit: number) {
		super("body_too_large", { size: size ?? `over ${limit}`, limit });
		this.size = size;
	}
}

/** Throws {@link BodyTooLarge}; a JSON fault is in `scan`. */
export function readJson(call: Call, options: ScanOptions): Promise<ScannedBody> {
	const scanner = new JsonScanner(options);
	return received(
		call,
		(piece) => scanner.push(piece),
		(blocks, size) => scanned(blocks, size, scanner.finish()),
	);
}

/** The body as one buffer, unscanned. Throws {@link BodyTooLarge}. */
export function readBytes(call: Call): Promise<Buffer> {
	return received(
		call,
		() => {},
		(blocks) => (blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks)),
	);
}

/** Scans JSON text within a body. */
export function scanBytes(bytes: Buffer, options: ScanOptions): ScannedBody {
	const scanner = new JsonScanner(options);
	scanner.push(bytes);
	return scanned([bytes], bytes.length, scanner.finish());
}

/** Reads a body up to `maxBody`. */
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
	// Cleared at the end to free the body: the request keeps its listeners until answered (minutes),
	// and resolvers keep their value.
	let reading: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
	const { promise } = reading;
	let length = 0;
	let turn = 0;

	let waiting = false;
	/** Bytes that this request may hold. */
	let covered = FREE_BYTES;
	const idleMs = call.engine.budgets.readTimeout.limit;

	function fail(error: Error): void {
		reading?.reject(error);
		reading = undefined;
	}

	/** The rest is read and not kept. */
	function refuse(error: Error): void {
		gathered.drop();
		req.removeAllListeners("data");
		req.resume();
		fail(error);
	}

	function ended(): void {
		if (!inTime) req.setTimeout(0);
		reading?.resolve(finish(gathered.blocks(), length));
		reading = undefined;
	}

	/** Reads no more until the request may hold what it has declared, or twice what has arrived. */
	function cover(): void {
		covered = Math.max(length, size ?? Math.min(maxBody, 2 * length));
		const held = hold(call, covered);
		if (!held) return;
		waiting = true;
		req.pause();
		req.setTimeout(0);
		held.then(() => {
			waiting = false;
			req.setTimeout(idleMs);
			req.resume();
		}, refuse);
	}

	req.on("data", (piece: Buffer) => {
		length += piece.length;
		if (length > maxBody) return refuse(new BodyTooLarge(undefined, maxBody));
		onPiece(piece);
		gathered.add(piece);
		if (length > covered) cover();
		turn += piece.length;
		if (turn < TURN_BYTES) return;
		turn = 0;
		req.pause();
		setImmediate(() => {
			if (!waiting) req.resume();
		});
	});
	// Most bodies have arrived with their headers.
	const inTime = req.complete;
	if (!inTime) req.setTimeout(idleMs, () => refuse(new ApiError("request_timeout")));
	// Without a body the request has already ended.
	if (req.readableEnded) ended();
	req.on("end", ended);
	req.on("error", (error) => fail(req.complete ? error : cutShort()));
	req.on("close", () => {
		if (!req.complete) fail(cutShort());
	});
	return promise;
}

/** Caused by the client: not logged. */
function cutShort(): ApiError {
	return new ApiError("bad_json", {
		why: "the connection closed before the end of the body.",
		type: "",
	});
}

function scanned(blocks: readonly Buffer[], size: number, scan: JsonScan): ScannedBody {
	const encoding = scan.ok && scan.ascii ? "latin1" : "utf8";
	const bytes = ({ start, end }: Part): Buffer => {
		const within = cut(blocks, start, end);
		return within.length === 1 ? within[0]! : Buffer.concat(within);
	};
	const text = (part: Part | undefined): string | undefined => {
		if (!part) return undefined;
		return blocks.length === 1 ? blocks[0]!.toString(encoding, part.start, part.end) : bytes(part).toString(encoding);
	};
	const payload = (part: Part | undefined): JsonText | undefined =>
		part && part.end - part.start >= LARGE_BYTES ? cut(blocks, part.start, part.end) : text(part);
	return { blocks, size, scan, text, bytes, payload };
}

/**
 * Collects a small body in one block, a large one in blocks of {@link BLOCK_BYTES}. `size`: of the
 * body, if known.
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
		// A piece with its own memory is reused now, before garbage collection.
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
			const blocks = small === undefined ? full.splice(0) : small.length === 1 ? small : [Buffer.concat(small, bytes)];
			// Freed: the request keeps this closure until answered, which may take minutes (D40).
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

/** 400 for a body that is not a JSON object; mentions a non-JSON Content-Type (D4). */
export function notAnObject(call: Call, scan: JsonScan): ApiError {
	const type = call.req.headers["content-type"];
	const hint = type !== undefined && !/json/i.test(type) ? `; its Content-Type says '${type.slice(0, 100)}'` : "";
	const why = scan.ok ? `it is ${scan.kind === "array" ? "an array" : `a ${scan.kind}`}.` : scan.fault.message;
	return new ApiError("bad_json", { why, type: hint });
}
