/**
 * Posts reports. Over plain HTTP they are pipelined on few connections, which takes a third of the CPU time. With
 * TLS, where proxies are common, they are not.
 */
import { Readable } from "node:stream";
import { Pool, buildConnector, type Dispatcher } from "undici";
import type { Socket } from "node:net";
import type { ResultBody } from "./result-body.ts";

export type PostOutcome = number | Error;

export interface PostAnswer {
	status: number;
	text: string;
}

export interface ResultPoster {
	/** Ignores the answer's body. `path` includes the query. Never rejects. */
	send(path: string, body: ResultBody): Promise<PostOutcome>;
	ask(path: string, body: string): Promise<PostAnswer | Error>;
	/** Posts in flight resolve with an error. */
	close(): Promise<void>;
}

const PIPELINED_CONNECTIONS = 4;
const PIPELINE_DEPTH = 64;
const PLAIN_CONNECTIONS = 64;

/** `headers` in undici's flat form. */
export function openResultPoster({
	origin,
	headers,
	timeoutMs,
}: {
	origin: string;
	headers: string[];
	timeoutMs: number;
}): ResultPoster {
	const pipelined = origin.startsWith("http:");
	const sockets = new Set<Socket>();
	const dial = buildConnector({ allowH2: false });
	const pool = new Pool(origin, {
		allowH2: false,
		connections: pipelined ? PIPELINED_CONNECTIONS : PLAIN_CONNECTIONS,
		pipelining: pipelined ? PIPELINE_DEPTH : 1,
		headersTimeout: timeoutMs,
		bodyTimeout: timeoutMs,
		connect: (options, done) =>
			dial(options, (error, socket) => {
				if (error) return done(error, null);
				sockets.add(socket);
				socket.on("close", () => sockets.delete(socket));
				done(null, socket);
			}),
	});

	let corked = false;
	function corkSockets(): void {
		if (corked) return;
		corked = true;
		for (const socket of sockets) socket.cork();
		setImmediate(() => {
			corked = false;
			for (const socket of sockets) socket.uncork();
		});
	}

	function post(path: string, body: ResultBody, handler: PostHandler): void {
		const request = { path, method: "POST" as const, idempotent: true, blocking: false };
		if (typeof body === "string") return void pool.dispatch({ ...request, headers, body }, handler);
		const length = body.reduce((sum, piece) => sum + piece.length, 0);
		const withLength = [...headers, "content-length", `${length}`];
		pool.dispatch({ ...request, headers: withLength, body: Readable.from(body) }, handler);
	}

	return {
		send(path, body) {
			corkSockets();
			return new Promise((resolve) =>
				post(path, body, new PostHandler((answer) => resolve(answer instanceof Error ? answer : answer.status))),
			);
		},
		ask: (path, body) => new Promise((resolve) => post(path, body, new PostHandler(resolve, []))),
		close: () => pool.destroy(),
	};
}

class PostHandler implements Dispatcher.DispatchHandler {
	readonly resolve: (answer: PostAnswer | Error) => void;
	readonly pieces: Buffer[] | undefined;
	status = 0;

	constructor(resolve: (answer: PostAnswer | Error) => void, pieces?: Buffer[]) {
		this.resolve = resolve;
		this.pieces = pieces;
	}

	onRequestStart(): void {}

	onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
		this.status = status;
	}

	onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
		this.pieces?.push(piece);
	}

	onResponseEnd(): void {
		this.resolve({
			status: this.status,
			text: this.pieces ? Buffer.concat(this.pieces).toString("utf8") : "",
		});
	}

	onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
		this.resolve(error);
	}
}
