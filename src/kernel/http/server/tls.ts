/** The server with or without TLS. Changed certificate files are read again (D34). */
import { stat } from "node:fs/promises";
import {
	createServer as createHttpServer,
	type IncomingMessage,
	type RequestListener,
	type Server as AnyServer,
	type ServerOptions,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { readCertificate, type TlsFiles } from "../../system/certificate.ts";
import { fileCalls } from "../../system/file-calls.ts";
import type { Clock } from "../../system/clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../system/loop.ts";
import type { Response } from "../exchange/response.ts";

type Server = AnyServer<typeof IncomingMessage, typeof Response>;

const CHECK_MS = 60_000;

const HANDSHAKE_MS = 10_000;

/** Browsers ignore it for addresses without a name. */
const HSTS = ["Strict-Transport-Security", "max-age=31536000"] as const;

/** On this name other services of the machine may have no TLS. */
const LOCALHOST = /^localhost(:|$)/;

/** `reload` reads the files now, `stop` ends their checks. */
export async function serverFor(
	options: ServerOptions<typeof IncomingMessage, typeof Response>,
	handle: RequestListener<typeof IncomingMessage, typeof Response>,
	{ files, clock, events }: { files: TlsFiles | undefined; clock: Clock; events: EventBus },
): Promise<{ server: Server; reload: () => void; stop: () => Promise<void> }> {
	if (!files)
		return {
			server: createHttpServer(options, handle),
			reload: () => {},
			stop: async () => {},
		};
	let stamp = await stampOf(files);
	const server = createHttpsServer(
		{ ...options, ...(await readCertificate(files, clock.wall())).options, handshakeTimeout: HANDSHAKE_MS },
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
			const found = await stampOf(files);
			if (found === stamp) return CHECK_MS;
			stamp = found;
			server.setSecureContext((await readCertificate(files, clock.wall())).options);
			events.emit("certificate.reloaded", {});
			return CHECK_MS;
		},
	});
	server.once("listening", checks.start);
	return {
		server,
		reload() {
			// Unchanged files may be readable only now.
			stamp = "";
			checks.nudge();
		},
		stop: checks.stop,
	};
}

/**
 * The socket below TLS, or the socket itself. Node has it only as the private `_parent`, even after a failed
 * handshake.
 */
export function plainSocketOf(socket: Socket & { _parent?: Socket | null }): Socket {
	return socket._parent ?? socket;
}

/** Whether the service itself received it with TLS. */
export const isEncrypted = ({ socket }: IncomingMessage): boolean => "encrypted" in socket;

async function stampOf({ cert, key }: TlsFiles): Promise<string> {
	const stamps = [cert, key].map(async (path) => {
		const found = await fileCalls.run(path, () => stat(path)).catch(() => undefined);
		return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "missing";
	});
	return (await Promise.all(stamps)).join(", ");
}
