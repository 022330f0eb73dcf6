/** The server with or without TLS; the certificate files are read again when they change (D34). */
import { statSync } from "node:fs";
import {
	createServer as createHttpServer,
	type IncomingMessage,
	type RequestListener,
	type Server,
	type ServerOptions,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { readCertificate, type TlsFiles } from "../certificate.ts";
import type { Clock } from "../clock.ts";
import type { EventBus } from "../events.ts";
import { loop } from "../service.ts";

/** How often the files are checked, ms. */
const CHECK_MS = 60_000;

/** Time for a client's handshake, ms. */
const HANDSHAKE_MS = 10_000;

/** Valid for a year; browsers ignore it for addresses without a name. */
const HSTS = ["Strict-Transport-Security", "max-age=31536000"] as const;

/** On this name other services of the machine may have no TLS. */
const LOCALHOST = /^localhost(:|$)/;

/**
 * An HTTP server, with TLS if `files` are given; `reload` reads the files now, `stop` ends the checks.
 */
export function serverFor(
	options: ServerOptions,
	handle: RequestListener,
	{ files, clock, events }: { files: TlsFiles | undefined; clock: Clock; events: EventBus },
): { server: Server; reload: () => void; stop: () => Promise<void> } {
	if (!files)
		return {
			server: createHttpServer(options, handle),
			reload: () => {},
			stop: async () => {},
		};
	let stamp = stampOf(files);
	const server = createHttpsServer(
		{ ...options, ...readCertificate(files, clock.wall()).options, handshakeTimeout: HANDSHAKE_MS },
		handle,
	);
	server.prependListener("request", ({ headers: { host = "" } }, response) => {
		if (!LOCALHOST.test(host)) response.setHeader(...HSTS);
	});
	const checks = loop({
		clock,
		retryMs: CHECK_MS,
		onError: (error) => events.emit("certificate.failed", { reason: (error as Error).message }),
		step: async () => {
			const found = stampOf(files);
			if (found === stamp) return CHECK_MS;
			stamp = found;
			server.setSecureContext(readCertificate(files, clock.wall()).options);
			events.emit("certificate.reloaded", {});
			return CHECK_MS;
		},
	});
	server.once("listening", checks.start);
	return {
		server,
		reload() {
			// Also unchanged files may be readable only now.
			stamp = "";
			checks.nudge();
		},
		stop: checks.stop,
	};
}

/**
 * The socket below TLS, or the socket itself without TLS. Node keeps it as `_parent`, also after a
 * failed handshake, and has no public name for it.
 */
export function plainSocketOf(socket: Socket & { _parent?: Socket | null }): Socket {
	return socket._parent ?? socket;
}

/** Whether the service itself received it with TLS. */
export const isEncrypted = ({ socket }: IncomingMessage): boolean => "encrypted" in socket;

/** Changes when one of the files does. */
function stampOf({ cert, key }: TlsFiles): string {
	return [cert, key]
		.map((path) => {
			const found = statSync(path, { throwIfNoEntry: false });
			return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "missing";
		})
		.join(", ");
}
