/** Sends the content of a file. Any client may have uploaded it, and it has the origin of the console. */
import { ApiError } from "../../kernel/core/errors.ts";
import type { ByteRange } from "../../kernel/engine/stored-files.ts";
import { type Call, connected, isHead, outside } from "../../kernel/http/exchange/call.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import type { FileRow } from "../../kernel/store/contract/files.ts";
import { byteRange } from "./byte-range.ts";
import type { ContentPieces } from "./contents/contents.ts";
import { ERRORS } from "./errors.ts";
import type { Files } from "./files.ts";

/** Types that a browser may show, none of which can run a script. */
export const SHOWN = /^(?:image\/(?!svg)[\w.+-]+|(?:audio|video)\/[\w.+-]+|text\/plain)$/;

export async function sendContent(
	call: Call,
	file: FileRow,
	contents: { memory: number; open: Files["open"] },
): Promise<void> {
	const { req, res } = call;
	const found = byteRange(req.headers.range, file.bytes);
	if (found === "none") {
		res.setHeader("Content-Range", `bytes */${file.bytes}`);
		throw new ApiError(ERRORS.range_not_satisfiable, { bytes: file.bytes });
	}
	const range = found === "whole" ? { start: 0, end: file.bytes } : found;
	const headers = headersOf(file, range, found !== "whole");
	if (isHead(call)) {
		res.writeHead(found === "whole" ? 200 : 206, headers);
		res.end();
		return;
	}
	await outside(call, hold(call, contents.memory) ?? Promise.resolve());
	const pieces = await contents.open(file, range);
	await outside(
		call,
		sent(call, pieces, () => res.writeHead(found === "whole" ? 200 : 206, headers)),
	);
}

/**
 * Resolves when the piece may be overwritten ([3](README.md#buffers)): with true once the operating system has it, with
 * false if the client has disconnected, at the latest when it has read nothing for `readTimeout`.
 */
function written(call: Call, piece: Uint8Array): Promise<boolean> {
	const { req, res } = call;
	if (!connected(call)) return Promise.resolve(false);
	req.socket.setTimeout(call.engine.budgets.readTimeout.limit);
	const { promise, resolve } = Promise.withResolvers<boolean>();
	const closed = (): void => end(false);
	function end(isWritten: boolean): void {
		for (const each of [res, req.socket]) each.off("close", closed);
		req.socket.setTimeout(0);
		resolve(isWritten);
	}
	for (const each of [res, req.socket]) each.once("close", closed);
	res.write(piece, (error) => end(!error));
	return promise;
}

/** Also closes the file: in the next turn of the key, that could be late, and its time would be charged (D41). */
export async function sent(call: Call, pieces: ContentPieces, writeHead: () => void): Promise<void> {
	try {
		writeHead();
		for await (const piece of pieces) if (!(await written(call, piece))) return;
		call.res.end();
	} finally {
		await pieces.close();
	}
}

function headersOf({ name, type, bytes }: FileRow, { start, end }: ByteRange, isPart: boolean) {
	const disposition = SHOWN.test(type) ? "inline" : "attachment";
	return {
		"Content-Type": type.startsWith("text/") ? `${type}; charset=utf-8` : type,
		"Content-Length": String(end - start),
		"Content-Disposition": `${disposition}; ${fileNameParameters(name)}`,
		"Accept-Ranges": "bytes",
		...(isPart && { "Content-Range": `bytes ${start}-${end - 1}/${bytes}` }),
		"Content-Security-Policy": "sandbox; default-src 'none'",
		"X-Content-Type-Options": "nosniff",
		"Cache-Control": "private, no-store",
	};
}

/** RFC 6266: a name in ASCII for old clients, and the whole one. */
export function fileNameParameters(name: string): string {
	const ascii = name.replace(/[^ -~]|["\\%]/g, "_");
	const whole = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
	return `filename="${ascii}"; filename*=UTF-8''${whole}`;
}
