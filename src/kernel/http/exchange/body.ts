/** Reads request bodies. They are bounded (D3) and scanned as JSON on arrival, not parsed (D5). */
import { ApiError } from "../../core/errors.ts";
import { type JsonMember, type JsonScan, JsonScanner, type JsonScanOptions } from "../../lib/json/json-scan.ts";
import { cut, type JsonText, LARGE_BYTES } from "../../lib/json/json-text.ts";
import { MarkFilter } from "../../lib/byte-order-mark.ts";
import { BlockCollector } from "./block-collector.ts";
import type { Call } from "./call.ts";
import { codingOf, type Content, contentOf, mostDecoded, WINDOW_BYTES } from "./content-coding.ts";
import { FREE_BYTES, hold } from "../memory/call-memory.ts";

const TURN_BYTES = 262_144;

/** A body must have arrived by then, without the time that it waits for memory, ms. */
export const LONGEST_BODY_MS = 300_000;

type Part = Pick<JsonMember, "start" | "end">;

export class ScannedBody {
	readonly blocks: readonly Buffer[];
	readonly size: number;
	readonly scan: JsonScan;

	constructor(blocks: readonly Buffer[], size: number, scan: JsonScan) {
		this.blocks = blocks;
		this.size = size;
		this.scan = scan;
	}

	text(part: Part): string {
		const encoding = this.scan.ok && this.scan.ascii ? "latin1" : "utf8";
		return this.blocks.length === 1
			? this.blocks[0]!.toString(encoding, part.start, part.end)
			: this.bytes(part).toString(encoding);
	}

	bytes({ start, end }: Part): Buffer {
		const within = cut(this.blocks, start, end);
		return within.length === 1 ? within[0]! : Buffer.concat(within);
	}

	/** Returns a part of the body: blocks if it is large, else a string. */
	payload(part: Part): JsonText {
		return part.end - part.start >= LARGE_BYTES ? cut(this.blocks, part.start, part.end) : this.text(part);
	}
}

/** Refuses a request whose body is not read to its end: the connection is closed after the answer. */
export class UnreadBody extends ApiError {}

/** A body over its limit. `size`: declared bytes, if any. */
export class BodyTooLarge extends UnreadBody {
	readonly size: number | undefined;
	constructor(size: number | undefined, limit: number) {
		super("body_too_large", { size: size ?? `over ${limit}`, limit });
		this.size = size;
	}
}

/**
 * Reads a JSON body. Throws {@link BodyTooLarge}, and an error for a coding that is not supported. A JSON fault is in
 * `scan`.
 */
export async function readJson(call: Call, options: JsonScanOptions): Promise<ScannedBody> {
	const scanner = new JsonScanner(options);
	const finish: Finish<ScannedBody> = (blocks, size) => new ScannedBody(blocks, size, scanner.finish());
	return await new BodyReader(call, finish, scanner).read();
}

export async function readBytes(call: Call): Promise<Buffer> {
	return await new BodyReader(call, (blocks) => (blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks))).read();
}

export function scanBytes(bytes: Buffer, options: JsonScanOptions): ScannedBody {
	const scanner = new JsonScanner(options);
	scanner.push(bytes);
	return new ScannedBody([bytes], bytes.length, scanner.finish());
}

type Finish<T> = (blocks: Buffer[], size: number) => T;

/** Reads one body up to `maxBody`, with pauses for other requests. */
class BodyReader<T> {
	private readonly call: Call;
	private readonly finish: Finish<T>;
	private readonly scanner: JsonScanner | undefined;
	/** Declared bytes of the transfer. */
	private readonly declared: number | undefined;
	/** Declared bytes of the content; undefined if they are not declared or a coding is used. */
	private readonly size: number | undefined;
	private readonly mark = new MarkFilter();
	private content: Content | undefined;
	private received = 0;
	private readonly blocks: BlockCollector;
	/**
	 * Cleared at the end to free the body: the request keeps its listeners until it is answered (minutes), and resolvers
	 * keep their value.
	 */
	private reading: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
	private length = 0;
	private turn = 0;
	private waiting = false;
	/** Bytes that the request may hold. */
	private covered = FREE_BYTES;
	private isTimed = false;
	private began = 0;

	constructor(call: Call, finish: Finish<T>, scanner?: JsonScanner) {
		const declared = call.req.headers["content-length"];
		this.call = call;
		this.finish = finish;
		this.scanner = scanner;
		this.declared = declared === undefined ? undefined : Number(declared);
		this.size = call.req.headers["content-encoding"] === undefined ? this.declared : undefined;
		this.blocks = new BlockCollector(this.size);
	}

	/** Throws 413 and 415. */
	read(): Promise<T> {
		const { req, maxBody } = this.call;
		const { declared } = this;
		if (declared !== undefined && declared > maxBody) throw new BodyTooLarge(declared, maxBody);
		const coding = codingOf(req);
		const { promise } = this.reading!;
		req.on("error", (error) => this.fail(req.complete ? error : cutShort()));
		req.on("close", () => {
			if (!req.complete) this.fail(cutShort());
		});
		const held = coding === "br" ? this.coverDecoder() : undefined;
		if (!held) this.open(coding);
		else
			held.then(
				() => this.open(coding),
				(error: Error) => this.refuse(error),
			);
		return promise;
	}

	/** Before this, the request and its connection buffer only a small amount. */
	private open(coding: ReturnType<typeof codingOf>): void {
		const { req, res } = this.call;
		// No memory is reserved for a client that has disconnected, so none may be allocated.
		if (coding === "br" && res.closed) this.fail(cutShort());
		if (!this.reading) return;
		this.content = contentOf(req, coding, (error) => this.refuse(error));
		const { source } = this.content;
		if (source !== req) req.on("data", (piece: Buffer) => this.receive(piece));
		source.on("data", (piece: Buffer) => this.add(this.mark.push(piece)));
		// Most bodies have arrived with their headers, though their end may not be parsed yet.
		if (!req.complete && req.readableLength !== this.declared) this.limitTime();
		// A request without a body has already ended.
		if (source.readableEnded) this.ended();
		source.on("end", () => this.ended());
	}

	/**
	 * Reserves memory for the decoder's window and the largest possible content before it makes the decoder. A body that
	 * waited for more memory while it holds a window would wait for others that do the same. The amount is at most the
	 * clients' part of the budget, since the smallest budget has no room for the largest body.
	 */
	private coverDecoder(): Promise<void> | undefined {
		const { maxBody, engine } = this.call;
		this.covered = Math.min(maxBody, mostDecoded(this.declared ?? maxBody));
		return hold(this.call, Math.min(WINDOW_BYTES + this.covered, engine.budgets.memory.limit / 2));
	}

	/** Refuses a body when nothing of it arrives for `readTimeout`; {@link LONGEST_BODY_MS} begins. */
	private limitTime(): void {
		const { req, engine } = this.call;
		const late = this.isTimed ? undefined : () => this.refuse(new ApiError("request_timeout"));
		this.isTimed = true;
		this.began = engine.now();
		req.setTimeout(engine.budgets.readTimeout.limit, late);
	}

	/** Compressed data may have any number of bytes without content. */
	private receive({ length }: Buffer): void {
		const { maxBody } = this.call;
		this.received += length;
		if (this.received > maxBody) this.refuse(new BodyTooLarge(undefined, maxBody));
		else if (this.isLate()) this.refuse(new ApiError("request_timeout"));
	}

	private isLate(): boolean {
		return this.isTimed && this.call.engine.now() - this.began > LONGEST_BODY_MS;
	}

	private add(piece: Buffer): void {
		const { maxBody } = this.call;
		const { source, fault } = this.content!;
		if (piece.length === 0) return;
		this.length += piece.length;
		if (this.length > maxBody) return this.refuse(new BodyTooLarge(undefined, maxBody));
		const refusal = fault(this.length) ?? (this.isLate() ? new ApiError("request_timeout") : undefined);
		if (refusal) return this.refuse(refusal);
		this.scanner?.push(piece);
		this.blocks.add(piece);
		if (this.length > this.covered) this.cover();
		this.turn += piece.length;
		if (this.turn < TURN_BYTES) return;
		this.turn = 0;
		source.pause();
		setImmediate(() => {
			if (!this.waiting) source.resume();
		});
	}

	/** Pauses reading until the request has memory for the declared size, or for twice what has arrived. */
	private cover(): void {
		const { req, maxBody } = this.call;
		this.covered = Math.max(this.length, this.size ?? Math.min(maxBody, 2 * this.length));
		const held = hold(this.call, this.covered);
		if (!held) return;
		const { source } = this.content!;
		this.waiting = true;
		source.pause();
		req.setTimeout(0);
		held.then(
			() => {
				this.waiting = false;
				if (this.reading) this.limitTime();
				source.resume();
			},
			(error: Error) => this.refuse(error),
		);
	}

	private ended(): void {
		if (this.isTimed) this.call.req.setTimeout(0);
		if (this.reading) this.add(this.mark.end());
		// Frees the window; the size of the content is known now.
		if (this.reading && this.length < this.call.holds.bytes) void hold(this.call, this.length);
		this.reading?.resolve(this.finish(this.blocks.finish(), this.length));
		this.reading = undefined;
	}

	private fail(error: Error): void {
		this.content?.drop();
		this.reading?.reject(error);
		this.reading = undefined;
	}

	/** Fails the read, and reads and drops the rest of the body. */
	private refuse(error: Error): void {
		const { req } = this.call;
		this.blocks.drop();
		this.fail(error);
		req.removeAllListeners("data");
		req.resume();
	}
}

/** The client caused it, so it is not logged. */
function cutShort(): ApiError {
	return new ApiError("bad_json", { why: "the connection closed before the end of the body.", type: "" });
}

/** Returns the 400 for a body that is not a JSON object. It names a Content-Type that is not JSON (D4). */
export function notAnObject(call: Call, scan: JsonScan): ApiError {
	const type = call.req.headers["content-type"];
	const hint = type !== undefined && !/json/i.test(type) ? `; its Content-Type says '${type.slice(0, 100)}'` : "";
	const why = scan.ok ? `it is ${scan.kind === "array" ? "an array" : `a ${scan.kind}`}.` : scan.fault.message;
	return new ApiError("bad_json", { why, type: hint });
}
