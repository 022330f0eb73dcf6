/**
 * HTTP by hand: bytes into a socket, the answers out of it. For what a well-behaved client cannot
 * send.
 */
import type { Socket } from "node:net";
import { connectTo } from "../support/transport.ts";

/** One answer read from a socket. */
export interface RawAnswer {
	status: number;
	/** Lower-case names. */
	headers: Record<string, string>;
	text: string;
}

/** A connection that reads answers one after another. */
export interface RawConnection {
	socket: Socket;
	write(data: string | Uint8Array): void;
	/**
	 * The next answer; rejects when the connection ends before it is whole. `head`: the answer has no
	 * body.
	 */
	answer(q?: { head?: boolean }): Promise<RawAnswer>;
	/** Cuts the connection with an RST. */
	reset(): void;
	/** Resolves when the connection is closed. */
	closed: Promise<void>;
}

/** Connects to the service at `url`. `lazy`: reads nothing before the first answer is asked for. */
export async function rawConnection(url: string, { lazy = false } = {}): Promise<RawConnection> {
	const { socket, reset } = connectTo(url);
	await new Promise<void>((resolve, reject) =>
		socket.once(url.startsWith("https:") ? "secureConnect" : "connect", resolve).once("error", reject),
	);
	let buffer = Buffer.alloc(0);
	let ended = false;
	let wake = (): void => {};
	const onData = (piece: Buffer): void => {
		buffer = Buffer.concat([buffer, piece]);
		wake();
	};
	if (!lazy) socket.on("data", onData);
	const closed = new Promise<void>((resolve) => {
		socket.once("close", () => {
			ended = true;
			wake();
			resolve();
		});
	});
	socket.on("error", () => {});

	async function until<T>(look: () => T | undefined): Promise<T> {
		for (;;) {
			const found = look();
			if (found !== undefined) return found;
			if (ended) throw new Error(`the connection ended after: ${buffer.toString("latin1").slice(0, 500)}`);
			await new Promise<void>((resolve) => (wake = resolve));
		}
	}

	return {
		socket,
		reset,
		closed,
		write: (data) => void socket.write(data),
		async answer({ head = false } = {}) {
			if (socket.listenerCount("data") === 0) socket.on("data", onData);
			const end = await until(() => {
				const at = buffer.indexOf("\r\n\r\n");
				return at < 0 ? undefined : at;
			});
			const [first = "", ...lines] = buffer.subarray(0, end).toString("latin1").split("\r\n");
			const headers = Object.fromEntries(
				lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
			);
			const length = head ? 0 : Number(headers["content-length"] ?? 0);
			const whole = end + 4 + length;
			await until(() => (buffer.length >= whole ? true : undefined));
			const text = buffer.subarray(end + 4, whole).toString("utf8");
			buffer = buffer.subarray(whole);
			return { status: Number(first.split(" ")[1]), headers, text };
		},
	};
}

/**
 * Sends a request and reads no more of the answer than its beginning: what does not fit on the way
 * stays with the service. Resolves when the answer has begun.
 */
export async function stalledReader(url: string, request: string): Promise<Socket> {
	const { socket } = connectTo(url);
	socket.on("error", () => {});
	// Without a listener for data the socket buffers a little and then stops reading.
	const begun = new Promise((resolve) => socket.once("readable", resolve));
	socket.write(request);
	await begun;
	return socket;
}

/** The text of a request with a body of known length. */
export function requestText(q: {
	method: string;
	path: string;
	headers?: Record<string, string>;
	body?: string;
}): string {
	const { method, path, headers = {}, body } = q;
	const all = {
		Host: "sluice",
		...headers,
		...(body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
	};
	return `${method} ${path} HTTP/1.1\r\n${Object.entries(all)
		.map(([name, value]) => `${name}: ${value}\r\n`)
		.join("")}\r\n${body ?? ""}`;
}
