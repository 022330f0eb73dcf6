/** The server's side of a WebSocket (RFC 6455), which Node lacks. It sends text, and reads nothing but the end. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** Of the RFC, section 1.3: the client takes only a server for one that hashes its key with this. */
const SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const OPCODES = { text: 0x1, close: 0x8 } as const;

export interface TextSocket {
	send(text: string): void;
	/** Resets the connection. */
	close(): void;
}

/** Accepts the request of a server's event `upgrade`. */
export function acceptWebSocket({ headers }: IncomingMessage, socket: Duplex, onClose: () => void): TextSocket {
	const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${SUFFIX}`).digest("base64");
	socket.write(
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
			`Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
	);
	socket.on("error", () => {});
	socket.on("close", onClose);
	// Clients of these servers send no message, so that a piece begins with a frame.
	socket.on("data", (piece: Buffer) => {
		if ((piece[0]! & 0x0f) === OPCODES.close) socket.end(frame("close", ""));
	});
	return {
		send: (text) => void (socket.writable && socket.write(frame("text", text))),
		close: () => void socket.destroy(),
	};
}

/** One whole frame. Those of servers have no mask. */
function frame(type: keyof typeof OPCODES, text: string): Buffer {
	const content = Buffer.from(text);
	const bytes = content.length;
	const size = Buffer.alloc(bytes < 126 ? 1 : bytes < 65_536 ? 3 : 9);
	size[0] = bytes < 126 ? bytes : bytes < 65_536 ? 126 : 127;
	if (size.length === 3) size.writeUInt16BE(bytes, 1);
	if (size.length === 9) size.writeBigUInt64BE(BigInt(bytes), 1);
	return Buffer.concat([Buffer.from([0x80 | OPCODES[type]]), size, content]);
}
