/** One request over a socket of its own, and its answer byte by byte: strict where clients are not. */
import { connect, type Socket } from "node:net";

export interface Answer {
	status: number;
	/** Lower-case names. */
	headers: Record<string, string>;
	text: string;
}

export interface Exchange {
	readonly socket: Socket;
	/** Undefined until the whole answer has arrived. */
	answer: Answer | undefined;
	/** The head has arrived. */
	begun: boolean;
	closed: boolean;
	/** What is wrong with the bytes. */
	fault: string | undefined;
}

/** Sends the pieces one after another; with `cut` it closes after them instead of reading. */
export function exchange(
	url: string,
	q: { pieces: readonly (string | Uint8Array)[]; head: boolean; cut: boolean },
): Exchange {
	const { hostname, port } = new URL(url);
	const socket = connect(Number(port), hostname);
	const it: Exchange = { socket, answer: undefined, begun: false, closed: false, fault: undefined };
	let bytes = Buffer.alloc(0);
	socket.setNoDelay(true);
	for (const piece of q.pieces) socket.write(piece);
	if (q.cut) socket.once("connect", () => setImmediate(() => socket.destroy()));
	socket.on("data", (piece) => {
		bytes = Buffer.concat([bytes, piece]);
		read();
	});
	socket.on("error", () => {});
	socket.on("close", () => {
		it.closed = true;
		if (bytes.length > 0 && !it.answer && !q.cut && !socket.destroyed) it.fault = `cut after ${bytes.length} bytes`;
	});

	function read(): void {
		const end = bytes.indexOf("\r\n\r\n");
		if (end < 0) return;
		it.begun = true;
		const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
		const match = /^HTTP\/1\.1 (\d{3}) /.exec(first);
		if (!match) return void (it.fault = `no status line: ${first}`);
		const status = Number(match[1]);
		const headers: Record<string, string> = {};
		for (const line of lines) {
			const name = line.slice(0, line.indexOf(":")).toLowerCase();
			if (headers[name] !== undefined && name !== "set-cookie") it.fault = `two headers ${name}`;
			headers[name] = line.slice(line.indexOf(":") + 1).trim();
		}
		const rest = bytes.subarray(end + 4);
		if (status === 100) {
			bytes = rest;
			return read();
		}
		// A request that cannot be parsed has no method: its answer has a body and ends the connection.
		const head = q.head && !(status === 400 && headers["connection"] === "close");
		const bare = head || status === 204 || status === 304;
		const body = bare ? { text: "", left: rest.length } : bodyIn(headers, rest);
		if (typeof body === "string") it.fault = body;
		else if (body && body.left > 0) it.fault = `${body.left} bytes after the answer`;
		else if (body) it.answer = { status, headers, text: body.text };
	}
	return it;
}

/** The body, undefined while it is incomplete, or what is wrong with it. */
function bodyIn(headers: Record<string, string>, rest: Buffer): { text: string; left: number } | string | undefined {
	const length = headers["content-length"];
	if (length !== undefined) {
		if (!/^\d+$/.test(length)) return `Content-Length: ${length}`;
		if (rest.length < Number(length)) return undefined;
		return { text: rest.toString("utf8", 0, Number(length)), left: rest.length - Number(length) };
	}
	if (headers["transfer-encoding"] !== "chunked") return "neither Content-Length nor chunked";
	const parts: Buffer[] = [];
	for (let at = 0; ; ) {
		const line = rest.indexOf("\r\n", at);
		if (line < 0) return undefined;
		const size = Number.parseInt(rest.toString("latin1", at, line), 16);
		if (Number.isNaN(size)) return "no size of a chunk";
		if (rest.length < line + 2 + size + 2) return undefined;
		parts.push(rest.subarray(line + 2, line + 2 + size));
		at = line + 2 + size + 2;
		if (size === 0) return { text: Buffer.concat(parts).toString(), left: rest.length - at };
	}
}
