/**
 * Posts reports. Over plain HTTP requests are pipelined on few connections, and what is posted in
 * one turn of the event loop leaves in one write: a third of the processor time per job. Over TLS,
 * where proxies stand between, one at a time per connection.
 */
import { Pool, buildConnector, type Dispatcher } from "undici";
import type { Socket } from "node:net";

/** What came of a post: the status of the answer, or the error that kept it from coming. */
export type PostOutcome = number | Error;

/** An answer whose body means something. */
export interface PostAnswer {
	status: number;
	text: string;
}

/** A place to post to. */
export interface ResultPoster {
	/** Posts JSON text. `path` with query. Never rejects. */
	send(path: string, body: string): Promise<PostOutcome>;
	/** As `send`, with the body of the answer. */
	ask(path: string, body: string): Promise<PostAnswer | Error>;
	/** Drops all connections; posts under way end with an error. */
	close(): Promise<void>;
}

const PIPELINED_CONNECTIONS = 4;
const PIPELINE_DEPTH = 64;
const PLAIN_CONNECTIONS = 64;

/**
 * Opens connections to `origin` as needed. `headers` in undici's flat form; no answer within
 * `timeoutMs` counts as an error.
 */
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

	let gathering = false;
	function gather(): void {
		if (gathering) return;
		gathering = true;
		for (const socket of sockets) socket.cork();
		setImmediate(() => {
			gathering = false;
			for (const socket of sockets) socket.uncork();
		});
	}

	function post(path: string, body: string, handler: PostHandler): void {
		pool.dispatch(
			{ path, method: "POST", headers, body, idempotent: true, blocking: false },
			handler,
		);
	}

	return {
		send(path, body) {
			gather();
			return new Promise((resolve) =>
				post(
					path,
					body,
					new PostHandler((answer) => resolve(answer instanceof Error ? answer : answer.status)),
				),
			);
		},
		// Few and large: there is nothing to wait for.
		ask: (path, body) => new Promise((resolve) => post(path, body, new PostHandler(resolve, []))),
		close: () => pool.destroy(),
	};
}

/**
 * Gives the answer when it is whole; its body only where there are `pieces` to keep it in
 * (protocol B.6: that of a report means nothing).
 */
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
