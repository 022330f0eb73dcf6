import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TlsFiles } from "../../system/certificate.ts";
import { ApiError, errorBody } from "../../core/errors.ts";
import { Connections } from "./connections.ts";
import { type RequestOptions, Requests } from "./requests.ts";
import { Response } from "../exchange/response.ts";
import { plainSocketOf, serverFor } from "./tls.ts";

/** Longer than workers reuse idle connections, so no result is sent into a closing one (protocol B.6), ms. */
const KEEP_ALIVE_MS = 75_000;

/** Maximum request line and headers, bytes. A ping's query names all jobs of its worker. */
const HEADERS_LIMIT = 64 * 1024;

/** Maximum time for the headers of a request, ms. */
const HEADERS_TIMEOUT_MS = 15_000;

/**
 * No client reads an answer after these errors. With TLS an answer on a reset connection is never sent, and the
 * socket never closed.
 */
const ENDED = /^(?:ERR_(?:SSL|TLS)_|ECONNRESET$|HPE_INVALID_EOF_STATE$)/;

const PLAIN_HTTP = "ERR_SSL_HTTP_REQUEST";

export type HttpServer = Awaited<ReturnType<typeof listen>>;

export interface HttpOptions extends Omit<RequestOptions, "connections"> {
	host: string;
	port: number;
	tls?: TlsFiles | undefined;
}

export async function listen(o: HttpOptions) {
	let closing = false;
	/** Aborted when the last connection closes during shutdown. */
	const unused = new AbortController();
	const open: Connections = new Connections({
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
	} = await serverFor(
		{
			ServerResponse: Response,
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
	server.on("checkContinue", requests.handleWaiting);
	server.headersTimeout = HEADERS_TIMEOUT_MS;
	// Readers of bodies limit their time: that of an upload depends on its size.
	server.requestTimeout = 0;
	server.on("connection", open.add);
	server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
		const plain = error.code === PLAIN_HTTP ? plainSocketOf(socket) : undefined;
		if (plain?.writable) return refuseSocket(plain, new ApiError("https_only"));
		if (ENDED.test(error.code ?? "")) return void socket.destroy();
		// Closing at more of a refused request could lose the answer. The client closes, or HEADERS_TIMEOUT_MS ends it.
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
		/**
		 * Answers for `lingerMs` with `Connection: close`, because clients must not send into a closing connection. Then
		 * closes idle connections, and others after their answer. Resolves at the latest after `ms`.
		 */
		async close(ms: number, lingerMs = 0): Promise<void> {
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
