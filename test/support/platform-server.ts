/** A loopback server that plays an API server or a Docker daemon, and sends what a test wants, without end. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Sent at once, bytes. */
const CHUNK = Buffer.alloc(64 * 1024, "x");

export interface PlatformServer {
	url: string;
	/** Bytes of the last answer that were taken. */
	sent(): number;
	close(): void;
}

/** `begin`: sent first; then up to `most` bytes of `fill`, while the client takes them; then `end`. */
export async function platformServer(
	answerTo: (path: string) => { status?: number; begin: Buffer | string; most: number; end?: string; fill?: Buffer },
): Promise<PlatformServer> {
	let sent = 0;
	const server = createServer((request, response) => {
		const { status = 200, begin, most, end = "", fill = CHUNK } = answerTo(request.url ?? "");
		response.writeHead(status);
		function* body(): Iterable<Buffer | string> {
			yield begin;
			for (sent = 0; sent < most; sent += fill.length) yield fill;
			yield end;
		}
		// Clients that have enough close the connection.
		pipeline(Readable.from(body()), response).catch(() => {});
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		sent: () => sent,
		close() {
			server.closeAllConnections();
			server.close();
		},
	};
}
