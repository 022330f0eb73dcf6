/** Connections to the server: one for each request, never through a proxy. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../clock.ts";
import type { Place } from "../mapping/mapping.ts";

/** Where and how to connect. `prefix`: path before that of each request, without a slash at its end. */
export type Server =
	| { socket: string; hostHeader: string; prefix: string }
	| {
			host: string;
			port: number;
			/** Undefined: without TLS. The name that the certificate must have. */
			tlsName: string | undefined;
			hostHeader: string;
			prefix: string;
	  };

/**
 * No answer, or only a part of one. `unsent`: the server cannot have received the request. `broken`: the connection
 * ended. `invalid`: the answer is not HTTP.
 */
export class ConnectionError extends Error {
	readonly kind: "unsent" | "broken" | "invalid";

	constructor(message: string, kind: ConnectionError["kind"]) {
		super(message);
		this.kind = kind;
	}
}

export interface ConnectOptions {
	connectMs: number;
	clock: Clock;
	signal?: AbortSignal | undefined;
}

/** `port`: the number in place of port 0. The address is 127.0.0.1, since `localhost` may mean another one. */
export function serverAt(place: Place, port?: number): Server {
	if ("socket" in place) return { socket: place.socket, hostHeader: "localhost", prefix: "" };
	if ("port" in place) {
		const used = place.port || (port ?? 0);
		return { host: "127.0.0.1", port: used, tlsName: undefined, hostHeader: `127.0.0.1:${used}`, prefix: "" };
	}
	const url = new URL(place.url);
	return serverOf(url, hostOf(url), url.pathname.replace(/\/$/, ""));
}

/** The name or address of a URL, without the brackets of IPv6. */
export function hostOf(url: URL): string {
	return url.hostname.replace(/^\[|\]$/g, "");
}

/** The server of a URL, at the address `host`. */
export function serverOf(url: URL, host: string, prefix: string): Server {
	const secure = url.protocol === "https:";
	return {
		host,
		port: Number(url.port) || (secure ? 443 : 80),
		tlsName: secure ? hostOf(url) : undefined,
		hostHeader: url.host,
		prefix,
	};
}

/** Rejects with a {@link ConnectionError}, also when `signal` aborts. */
export async function connect(server: Server, { connectMs, clock, signal }: ConnectOptions): Promise<Socket> {
	if (signal?.aborted) throw new ConnectionError("the request was cancelled", "unsent");
	const secure = "host" in server && server.tlsName !== undefined;
	const socket = dial(server);
	const settled = new AbortController();
	const abort = (): void => void socket.destroy(new Error("the request was cancelled"));
	signal?.addEventListener("abort", abort, { once: true });
	try {
		await new Promise<void>((resolve, reject) => {
			socket.once(secure ? "secureConnect" : "connect", resolve);
			socket.once("error", reject);
			socket.once("close", () => reject(new Error("the connection was closed")));
			void clock.sleep(connectMs, settled.signal).then(() => {
				if (!settled.signal.aborted) socket.destroy(new Error(`no connection within ${connectMs} ms`));
			});
		});
	} catch (error) {
		const { message, code } = error as NodeJS.ErrnoException;
		throw new ConnectionError(message || code || "no connection", "unsent");
	} finally {
		settled.abort();
		signal?.removeEventListener("abort", abort);
	}
	socket.setNoDelay(true);
	// Finds a server elsewhere that vanished without a word; the system's interval of minutes is enough.
	socket.setKeepAlive(true, 60_000);
	return socket;
}

function dial(server: Server): Socket {
	if ("socket" in server) return connectTcp({ path: server.socket });
	const { host, port, tlsName } = server;
	if (tlsName === undefined) return connectTcp({ host, port });
	// An address is no server name (RFC 6066); the certificate is checked against `host` then.
	const servername = /^[\d.]+$|:/.test(tlsName) ? "" : tlsName;
	return connectTls({ host, port, servername, ALPNProtocols: ["http/1.1"] });
}
