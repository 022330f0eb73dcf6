/** One request and its answer. It follows no redirects, keeps no cookies and has no other time limit than `connectMs`. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { connect, ConnectionError, type ConnectOptions, type Server } from "./connection.ts";

/** Not by an import: that of `node:http` reads all its exports, for which Node loads undici, 70 ms in each worker. */
const { request: httpRequest } = process.getBuiltinModule("node:http");

/** Can be sent several times. `length` in bytes. */
export interface RequestBody {
	length: number;
	pieces: () => Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>;
}

export interface ExchangeOptions extends ConnectOptions {
	method: string;
	/** Path and query, without the server's prefix. */
	path: string;
	/** Names in lower case. */
	headers: Readonly<Record<string, string>>;
	body?: RequestBody | undefined;
	/** Called when the connection is open, before the first byte is written. */
	onConnected?: () => void;
}

export interface Exchange {
	status: number;
	headers: IncomingHttpHeaders;
	/** Its errors are {@link ConnectionError}s. */
	body: AsyncIterable<Buffer>;
	/** Closes the connection. Without effect after the end of the body. */
	close(): void;
}

/**
 * Resolves with the head of the answer. Rejects with a {@link ConnectionError}. An abort of `signal` closes the
 * connection, also while the body is read.
 */
export async function exchange(server: Server, options: ExchangeOptions): Promise<Exchange> {
	const { method, path, headers, body, signal } = options;
	const socket = await connect(server, options);
	options.onConnected?.();
	const request = httpRequest({
		createConnection: () => socket,
		method,
		path: server.prefix + path,
		headers: {
			host: server.hostHeader,
			...headers,
			...(body && { "content-length": body.length }),
			connection: "close",
		},
		...(signal && { signal }),
	});
	const answer = await new Promise<IncomingMessage>((resolve, reject) => {
		request.once("response", resolve);
		request.on("error", (error) => reject(failureOf(error)));
		request.once("close", () =>
			reject(new ConnectionError("the server closed the connection without an answer", "broken")),
		);
		if (!body) return void request.end();
		// A body that fails closes the request, whose error is reported.
		const source = Readable.from(body.pieces());
		source.once("error", (error) => request.destroy(error));
		request.once("close", () => source.destroy());
		source.pipe(request);
	});
	const close = (): void => void request.destroy();
	return { status: answer.statusCode ?? 0, headers: answer.headers, body: piecesOf(answer, close), close };
}

async function* piecesOf(answer: IncomingMessage, close: () => void): AsyncGenerator<Buffer, void> {
	try {
		for await (const piece of answer) yield piece as Buffer;
	} catch (error) {
		throw failureOf(error as Error);
	} finally {
		// A server that has answered before it read all of the request may wait for the rest.
		close();
	}
}

function failureOf(error: Error): ConnectionError {
	const { code, message } = error as NodeJS.ErrnoException;
	if (code?.startsWith("HPE_"))
		return new ConnectionError(`the server's answer is not valid HTTP/1.1: ${message}`, "invalid");
	const within = code === "ECONNRESET" && message === "aborted";
	const reason = within ? "the server closed the connection within its answer" : message || code || "no answer";
	return new ConnectionError(reason, "broken");
}

/**
 * The start of a body as text. `end`: why the read ended: at the body's own end, at `maxBytes` of a longer one, or cut
 * by the connection or the limit of time. Never rejects.
 */
export async function readStart(
	answer: Exchange,
	maxBytes: number,
	limit?: { ms: number; clock: ConnectOptions["clock"] },
): Promise<{ text: string; end: "whole" | "bound" | "cut" }> {
	const pieces: Buffer[] = [];
	let length = 0;
	let end: "whole" | "bound" | "cut" = "cut";
	const read = new AbortController();
	if (limit) void limit.clock.sleep(limit.ms, read.signal).then(() => answer.close());
	try {
		for await (const piece of answer.body) {
			pieces.push(piece);
			length += piece.length;
			if (length > maxBytes) break;
		}
		end = length <= maxBytes ? "whole" : "bound";
	} catch {
		// What arrived is enough for an error, and incomplete for all else.
	} finally {
		read.abort();
	}
	// A character that the cut splits is omitted.
	const text = new TextDecoder().decode(Buffer.concat(pieces).subarray(0, maxBytes), { stream: true });
	return { text, end };
}
