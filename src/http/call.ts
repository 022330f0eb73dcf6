/**
 * One request on its way through a route: what was matched, who calls, and where the answer goes.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PathParams } from "../api/route.ts";
import type { Engine } from "../engine/api.ts";
import type { Principal } from "../engine/access/keys.ts";
import type { Caller } from "../engine/jobs/wait.ts";
import type { Worker } from "../engine/workers/worker-registry.ts";
import type { Bundle } from "./console/bundle.ts";

/** What a handler gets. Path parameters are decoded; absent ones are "". */
export interface Call {
	req: IncomingMessage;
	res: ServerResponse;
	engine: Engine;
	/** The request target up to the query. */
	path: string;
	/** The query text without its question mark. */
	queryText: string;
	params: Readonly<PathParams>;
	/** Largest body, bytes. */
	maxBody: number;
	/** Form of errors, if not ours (D32). */
	errorForm?: "openai" | undefined;
	/** Address of the service as operators told it, which may differ from `Host` behind a proxy. */
	publicUrl: URL | undefined;
	/** The built console. */
	bundle: Bundle;
	/** Set for routes of key holders. */
	principal?: Principal;
	/** Set for routes of workers. */
	worker?: Worker;
	/** Gives back the place of a request that was admitted within limits (D24). */
	release?: (() => void) | undefined;
	/** Tells waiting operations that the client has hung up. */
	caller: Caller;
}

/** The query as parameters. */
export function query(call: Call): URLSearchParams {
	return new URLSearchParams(call.queryText);
}

/** Whether an answer can still reach the client. */
export function connected({ req, res }: Call): boolean {
	// The request's socket: of pipelined requests only the first one's answer has a socket yet.
	return !res.destroyed && !req.socket.destroyed && req.socket.writable;
}

/**
 * Resolves when the client has read what was written, or is gone: who writes much waits for it
 * after each write that answers false.
 */
export function drained(call: Call): Promise<void> {
	const { req, res } = call;
	if (!connected(call) || !res.writableNeedDrain) return Promise.resolve();
	return new Promise((resolve) => {
		const ends = [
			[res, "drain"],
			[res, "close"],
			[req.socket, "close"],
		] as const;
		const done = (): void => {
			for (const [emitter, event] of ends) emitter.off(event, done);
			resolve();
		};
		for (const [emitter, event] of ends) emitter.once(event, done);
	});
}
