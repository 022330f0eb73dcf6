/** The HTTP server: connections, malformed requests, shutdown. */
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TlsFiles } from "../certificate.ts";
import { ApiError, errorBody } from "../core/errors.ts";
import { connections } from "./connections.ts";
import { type RequestOptions, Requests } from "./requests.ts";
import { plainSocketOf, serverFor } from "./tls.ts";

export type { Site } from "./bundle.ts";

/**
 * Longer than workers reuse idle connections: no result is sent into a closing one (protocol B.6),
 * ms.
 */
const KEEP_ALIVE_MS = 75_000;

/** Maximum request line and headers, bytes: the query of a ping names all jobs of its worker. */
const HEADERS_LIMIT = 64 * 1024;

/** How long the headers of a request may take to arrive, ms. */
const HEADERS_TIMEOUT_MS = 15_000;

/**
 * Errors of connections on which no answer is read: not encrypted so far, or ended within a request.
 * With TLS an answer after the end of a connection that was reset is never sent, nor the socket closed.
 */
const ENDED = /^(?:ERR_(?:SSL|TLS)_|ECONNRESET$|HPE_INVALID_EOF_STATE$)/;

/** The handshake began with a request. */
const PLAIN_HTTP = "ERR_SSL_HTTP_REQUEST";

/** A running server. */
export interface HttpServer {
	/** Bound address. */
	readonly host: string;
	readonly port: number;
	/** Reads the certificate files again. */
	reload(): void;
	/**
	 * Answers for `lingerMs` more, with `Connection: close`, so that clients do not send into a
	 * closing connection. Then closes idle connections, and others after their answer; resolves when
	 * all are closed or after `ms`.
	 */
	close(ms: number, lingerMs?: number): Promise<void>;
}

export interface HttpOptions extends Omit<RequestOptions, "connections"> {
	host: string;
	port: number;
	/** Serves https. */
	tls?: TlsFiles | undefined;
}

/** Rejects if the address is not available. */
export async function listen(o: HttpOptions): Promise<HttpServer> {
	let closing = false;
	/** Aborted when the last connection closes during shutdown. */
	const unused = new AbortController();
	const open = connections({
		budget: o.engine.budgets.connections,
		clock: o.clock,
		closed() {
			if (closing && open.size === 0) unused.abort();
		},
	});
	const requests = new Requests({ ...o, connections: open });

	const {
		server,
		reload,
		stop: stopTls,
	} = serverFor(
		{
			keepAlive: true,
			noDelay: true,
			keepAliveTimeout: KEEP_ALIVE_MS,
			connectionsCheckingInterval: 1000,
			maxHeaderSize: HEADERS_LIMIT,
			requireHostHeader: false,
			optimizeEmptyRequests: true,
		},
		requests.handle,
		{ files: o.tls, clock: o.clock, events: o.events },
	);
	// Node's own errors for a missing Host or an unknown Expect are not JSON (D2).
	server.on("checkExpectation", requests.handle);
	server.headersTimeout = HEADERS_TIMEOUT_MS;
	server.requestTimeout = 300_000;
	server.on("connection", open.add);
	server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
		const plain = error.code === PLAIN_HTTP ? plainSocketOf(socket) : undefined;
		if (plain?.writable) return refuseSocket(plain, new ApiError("https_only"));
		if (ENDED.test(error.code ?? "")) return void socket.destroy();
		// More of what was refused; closing now could lose the answer. The client closes, or HEADERS_TIMEOUT_MS ends it.
		if (socket.writableEnded && error.code?.startsWith("HPE_")) return;
		if (!socket.writable) return void socket.destroy();
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
	// Without a listener Node closes without an answer (D2).
	server.on("connect", ({ url = "" }, socket) =>
		refuseSocket(socket, new ApiError("path_not_found", { method: "CONNECT", path: url.slice(0, 200) })),
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
		reload,
		async close(ms, lingerMs = 0) {
			closing = true;
			requests.drain();
			if (open.size > 0) await o.clock.sleep(lingerMs, unused.signal);
			requests.endPolls();
			const over = new AbortController();
			server.close(() => over.abort());
			await stopTls();
			server.closeIdleConnections();
			await o.clock.sleep(ms, over.signal);
			open.closeAll();
		},
	};
}

/** Answers a connection without a readable request, then closes it. */
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
