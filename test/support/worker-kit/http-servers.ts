/** HTTP servers on loopback for tests of the adapter, and a clock that tests advance. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../../packages/worker/src/clock.ts";

/** A request with its whole body. */
export interface Received {
	method: string;
	url: string;
	headers: IncomingMessage["headers"];
	body: Buffer;
}

/** A server under test. */
export interface TestServer {
	port: number;
	readonly received: Received[];
	close(): Promise<void>;
}

/**
 * Calls `answer` with each whole request, and `upgrade` with the beginning of a WebSocket. `listen`: a port or a
 * socket's path.
 */
export async function httpServer(
	answer: (request: Received, response: ServerResponse) => void,
	listen: number | string = 0,
	upgrade?: (request: IncomingMessage, socket: Duplex) => void,
): Promise<TestServer> {
	const received: Received[] = [];
	const server = createServer((request, response) => {
		const pieces: Buffer[] = [];
		request.on("error", () => {});
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("end", () => {
			const { method = "", url = "", headers } = request;
			const one = { method, url, headers, body: Buffer.concat(pieces) };
			received.push(one);
			answer(one, response);
		});
	});
	if (upgrade) server.on("upgrade", upgrade);
	await listening(server, listen);
	return {
		port: (server.address() as AddressInfo).port ?? 0,
		received,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** Sends an answer. */
export const json = (response: ServerResponse, value: unknown, status = 200): void =>
	void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

/** Calls `connected` with each connection. */
export async function tcpServer(connected: (socket: Socket) => void): Promise<TestServer> {
	const sockets = new Set<Socket>();
	const server = createTcpServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {});
		connected(socket);
	});
	await listening(server, 0);
	return {
		port: (server.address() as AddressInfo).port,
		received: [],
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				for (const socket of sockets) socket.destroy();
			}),
	};
}

/** Sends `text` when the head of a request has arrived, then calls `then`. */
export function answerWith(text: string, then: (socket: Socket) => void = (socket) => socket.end()) {
	return (socket: Socket): void => {
		socket.once("data", () => {
			if (text === "") then(socket);
			else socket.write(text, () => then(socket));
		});
	};
}

function listening(server: TcpServer, target: number | string): Promise<void> {
	return new Promise((resolve) => {
		if (typeof target === "string") server.listen(target, resolve);
		else server.listen(target, "127.0.0.1", resolve);
	});
}

/** A clock that only {@link ManualClock.advance} moves. */
export interface ManualClock extends Clock {
	advance(ms: number): void;
	/** Resolves when a sleep of `ms` has begun that was not awaited before, and advances by it. */
	pass(ms: number): Promise<void>;
}

export function manualClock(start = 1_000_000): ManualClock {
	let now = start;
	let sleepers: { ms: number; at: number; wake: () => void; counted: boolean }[] = [];
	let changed = (): void => {};
	const clock: ManualClock = {
		now: () => now,
		sleep: (ms, signal) =>
			new Promise((resolve) => {
				if (signal?.aborted) return resolve();
				const wake = (): void => {
					sleepers = sleepers.filter((each) => each !== sleeper);
					signal?.removeEventListener("abort", wake);
					resolve();
				};
				const sleeper = { ms, at: now + ms, wake, counted: false };
				sleepers.push(sleeper);
				signal?.addEventListener("abort", wake, { once: true });
				changed();
			}),
		advance(ms) {
			now += ms;
			for (const each of sleepers.filter(({ at }) => at <= now)) each.wake();
		},
		async pass(ms) {
			for (;;) {
				const found = sleepers.find((each) => each.ms === ms && !each.counted);
				if (found) {
					found.counted = true;
					return clock.advance(ms);
				}
				await new Promise<void>((resolve) => {
					changed = resolve;
				});
			}
		},
	};
	return clock;
}
