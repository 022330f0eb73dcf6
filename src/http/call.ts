/** A request with its route, its caller and its response. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PathParams } from "../api/route.ts";
import type { Engine } from "../engine/api.ts";
import type { Principal } from "../engine/access/keys.ts";
import type { Caller } from "../engine/jobs/wait.ts";
import type { Worker } from "../engine/workers/worker-registry.ts";
import type { Bundle } from "./console/bundle.ts";

/** Path parameters are decoded; absent ones are "". */
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
	/** The configured address of the service: may differ from `Host` behind a proxy. */
	publicUrl: URL | undefined;
	/** The built console. */
	bundle: Bundle;
	/** Set for routes with a scope. */
	principal?: Principal;
	/** Set for routes of workers. */
	worker?: Worker;
	/** Releases the concurrency slot of an admitted request (D24). */
	release?: (() => void) | undefined;
	/** Notifies waiting operations of a disconnect. */
	caller: Caller;
}

/** The query as parameters. */
export function query(call: Call): URLSearchParams {
	return new URLSearchParams(call.queryText);
}

/** Whether the client is still connected. */
export function connected({ req, res }: Call): boolean {
	// Of pipelined requests only the first response has a socket, so that of the request is read.
	return !res.destroyed && !req.socket.destroyed && req.socket.writable;
}

/** Resolves when the client has read what was written, or has disconnected. */
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
