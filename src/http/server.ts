/** The HTTP server: connections, malformed requests, shutdown. */
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ApiError, errorBody } from "../core/errors.ts";
import { requests } from "./requests.ts";
import type { RequestOptions } from "./requests.ts";

/**
 * Longer than workers reuse an idle connection, so that no result is sent into a closing one
 * (protocol B.6), ms.
 */
const KEEP_ALIVE_MS = 75_000;

/** Largest request line and headers, bytes: a ping names every job of its worker in its query. */
const HEADERS_LIMIT = 128 * 1024;

/** A running server. */
export interface HttpServer {
	/** Address it listens on. */
	readonly host: string;
	readonly port: number;
	/**
	 * Closes idle connections, and others after their answer; resolves when all are closed or after
	 * `ms`. For `lingerMs` before that it still answers, each time with `Connection: close`, so that
	 * clients with persistent connections do not send into a closing one.
	 */
	close(ms: number, lingerMs?: number): Promise<void>;
}

export interface HttpOptions extends RequestOptions {
	host: string;
	port: number;
}

/** Listens; rejects when the address is not available. */
export async function listen(o: HttpOptions): Promise<HttpServer> {
	const { handle, drain, endPolls } = requests(o);
	const sockets = new Set<Socket>();
	let closing = false;
	/** Aborted when the last connection is closed while the server closes. */
	const unused = new AbortController();

	const server = createServer(
		{
			keepAlive: true,
			noDelay: true,
			keepAliveTimeout: KEEP_ALIVE_MS,
			connectionsCheckingInterval: 5000,
			maxHeaderSize: HEADERS_LIMIT,
			requireHostHeader: false,
			optimizeEmptyRequests: true,
		},
		handle,
	);
	// Node's own errors for a missing Host and an unknown Expect have no JSON body (D2).
	server.on("checkExpectation", handle);
	server.headersTimeout = 60_000;
	server.requestTimeout = 300_000;
	server.on("connection", (socket) => {
		sockets.add(socket);
		socket.once("close", () => {
			sockets.delete(socket);
			if (closing && sockets.size === 0) unused.abort();
		});
	});
	server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
		if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
		refuseSocket(
			socket,
			new ApiError(
				error.code === "HPE_HEADER_OVERFLOW"
					? "headers_too_large"
					: error.code === "ERR_HTTP_REQUEST_TIMEOUT"
						? "request_timeout"
						: "bad_http",
			),
		);
	});
	// Without a listener Node closes the connection without an answer (D2).
	server.on("connect", ({ url = "" }, socket) =>
		refuseSocket(
			socket,
			new ApiError("path_not_found", { method: "CONNECT", path: url.slice(0, 200) }),
		),
	);

	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(o.port, o.host, () => {
			server.off("error", reject);
			resolve();
		});
	});
	const { address, port } = server.address() as AddressInfo;

	return {
		host: address,
		port,
		async close(ms, lingerMs = 0) {
			closing = true;
			drain();
			if (sockets.size > 0) await o.clock.sleep(lingerMs, unused.signal);
			endPolls();
			const over = new AbortController();
			server.close(() => over.abort());
			server.closeIdleConnections();
			await o.clock.sleep(ms, over.signal);
			for (const socket of sockets) socket.destroy();
		},
	};
}

/** Answers an error on a connection without a readable request, and closes it. */
function refuseSocket(socket: Duplex, refusal: ApiError): void {
	const body = errorBody(refusal);
	const head = [
		`HTTP/1.1 ${refusal.status} Refused`,
		"Content-Type: application/json",
		`Content-Length: ${Buffer.byteLength(body)}`,
		"Connection: close",
	];
	socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
