/**
 * Reads forms (`multipart/form-data`, RFC 7578) part by part. Files are streams that are read as slowly as their
 * consumer wants, so that a file of gigabytes needs no more memory than one of kilobytes.
 */
import type { IncomingMessage } from "node:http";
import { ApiError } from "../../core/errors.ts";
import { BodyTooLarge, LONGEST_BODY_MS } from "./body.ts";
import type { Call } from "./call.ts";
import { codingOf } from "./content-coding.ts";
import { badForm, type FormLimits, FormParser, type FormPart } from "./form-parser.ts";

/** A rate is judged from then on, ms. */
const RATE_FROM_MS = 60_000;

export function isForm({ headers }: IncomingMessage): boolean {
	return /^\s*multipart\/form-data\b/i.test(headers["content-type"] ?? "");
}

/**
 * Yields the parts in the order of the body. The rest of a file that its consumer has not read is dropped when the next
 * part is asked for. Throws 413 (before the body is read if `Content-Length` is over the limit), 400, 408 and 415; the
 * connection is closed then. The consumer holds memory for what it keeps.
 */
export async function* readForm(call: Call, limits: FormLimits): AsyncGenerator<FormPart, void> {
	const { req } = call;
	const declared = Number(req.headers["content-length"] ?? 0);
	if (declared > limits.bytes) throw new BodyTooLarge(declared, limits.bytes);
	if (codingOf(req) !== undefined)
		throw new ApiError("unsupported_encoding", {
			encoding: String(req.headers["content-encoding"]).slice(0, 40),
			codings: "identity",
		});
	const boundary = boundaryOf(req);
	// Most services never get a form.
	const { Busboy } = await import("@fastify/busboy");
	const parser = new FormParser(limits, boundary, (config) => new Busboy(config));
	const source = feed(call, limits, boundary, parser);
	try {
		for (let part = await parser.next(); part; part = await parser.next()) {
			yield part;
			if ("content" in part && !part.content.readableEnded) part.content.resume();
		}
	} finally {
		source.stop();
	}
}

/** Characters that need no escape within quotes; RFC 2046 allows fewer. */
const BOUNDARY = /;\s*boundary=(?:"([^"\\]{1,70})"|([^\s";\\]{1,70}))/i;

function boundaryOf({ headers }: IncomingMessage): string {
	const [, quoted, plain] = BOUNDARY.exec(headers["content-type"] ?? "") ?? [];
	const boundary = quoted ?? plain;
	if (boundary !== undefined) return boundary;
	throw badForm("its Content-Type has no boundary of 1 to 70 characters.");
}

/** Passes the body to the parser, piece by piece, until `stop` or its end. */
function feed(call: Call, limits: FormLimits, boundary: string, parser: FormParser): { stop(): void } {
	const { req, engine } = call;
	const opening = Buffer.from(`--${boundary}`, "latin1");
	let received = 0;
	let matched = 0;
	let isTimed = false;
	const began = engine.now();
	/** Time in which the consumer let the client wait, ms. */
	let pausedMs = 0;

	function isTooSlow(): boolean {
		const ms = engine.now() - began - pausedMs;
		if (limits.bytesPerSecond === undefined) return ms > LONGEST_BODY_MS;
		return ms > RATE_FROM_MS && (received / ms) * 1000 < limits.bytesPerSecond;
	}

	/** A body that does not begin with its boundary would be read to its end in search of one. */
	function begins(piece: Buffer): boolean {
		for (let at = 0; at < piece.length && matched < opening.length; at += 1) {
			if (piece[at] === opening[matched]) matched += 1;
			else if (matched > 0 || !isLineEnd(piece[at]!)) return false;
		}
		return true;
	}

	/** While the parser waits for the consumer of a file, nothing can arrive. */
	function limitTime(): void {
		const late = isTimed ? undefined : () => parser.fail(new ApiError("request_timeout"));
		isTimed = true;
		req.setTimeout(engine.budgets.readTimeout.limit, late);
	}

	function receive(piece: Buffer): void {
		received += piece.length;
		if (received > limits.bytes) return parser.fail(new BodyTooLarge(undefined, limits.bytes));
		if (isTooSlow()) return parser.fail(new ApiError("request_timeout"));
		if (!begins(piece)) return parser.fail(badForm("it does not begin with the boundary of its Content-Type."));
		const written = parser.write(piece);
		if (!written) return;
		req.pause();
		req.setTimeout(0);
		const pausedAt = engine.now();
		void written.then(() => {
			pausedMs += engine.now() - pausedAt;
			limitTime();
			req.resume();
		});
	}

	const end = (): void => parser.end();
	const cut = (): void => {
		// Also a body that has arrived whole and was not read to its end: nothing more of it comes.
		if (!req.readableEnded) parser.fail(badForm("the connection closed before its end."));
	};
	const listeners = [
		["data", receive],
		["end", end],
		["error", cut],
		["close", cut],
	] as const;
	for (const [name, listener] of listeners) req.on(name, listener);
	limitTime();
	if (req.readableEnded) end();
	else if (req.destroyed) cut();

	return {
		stop() {
			for (const [name, listener] of listeners) req.off(name, listener);
			req.setTimeout(0);
			parser.close();
			// What is left of the body is dropped.
			req.resume();
		},
	};
}

function isLineEnd(byte: number): boolean {
	return byte === 0x0d || byte === 0x0a;
}
