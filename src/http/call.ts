/** A request with its route, its caller and its response. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PathParams } from "../api/route.ts";
import type { Engine } from "../engine/api.ts";
import type { Principal } from "../engine/access/keys.ts";
import type { Caller } from "../engine/jobs/wait.ts";
import type { Worker } from "../engine/workers/worker-registry.ts";
import type { Bundle, Site } from "./bundle.ts";
import type { Connections } from "./connections.ts";
import type { MemoryShares, Owner } from "./memory/shares.ts";
import type { Pace, Turn } from "./pace.ts";

/** What all requests of a server share. */
export interface Service {
	connections: Pick<Connections, "received" | "answered" | "identified">;
	/** Requests in flight under `/v1` by key. */
	management: Map<string, number>;
	memory: MemoryShares;
	pace: Pace;
	/** Configured address; may differ from `Host` behind a proxy. */
	publicUrl: URL | undefined;
	sites: Readonly<Record<Site, Bundle>>;
}

/** Who sent a request; set by its route's gates, and by a sign-in. */
export interface Identity {
	/** On routes with a scope. */
	principal?: Principal;
	/** Id of the console's session that the caller uses, begins or ends. */
	session?: string;
	/** On worker routes. */
	worker?: Worker;
}

/** What a request holds until its response closes. */
export interface Holds {
	/** Bytes of memory. */
	bytes: number;
	/** Whose they are, from the first of them on. */
	owner?: Owner;
	/** Ends its place among concurrent requests (D24, D41). */
	release?: (() => void) | undefined;
	/** Turn of a paced route while its handler runs. */
	turn?: Turn;
}

/** Path parameters are decoded; absent ones are "". */
export interface Call {
	req: IncomingMessage;
	res: ServerResponse;
	engine: Engine;
	/** Path without the query. */
	path: string;
	/** Text without the question mark. */
	queryText: string;
	params: Readonly<PathParams>;
	/** Bytes; 0 without a route. */
	maxBody: number;
	/** If not ours (D32). */
	errorForm: "openai" | undefined;
	service: Service;
	identity: Identity;
	holds: Holds;
	/** Signals a disconnect to waiting operations. */
	caller: Caller;
}

/** Parsed query parameters. */
export function query(call: Call): URLSearchParams {
	return new URLSearchParams(call.queryText);
}

/** Whether the client is still connected. */
export function connected({ req, res }: Call): boolean {
	// Only the first of pipelined responses has a socket: use the request's.
	return !res.destroyed && !req.socket.destroyed && req.socket.writable;
}

/** Resolves when the client has read the output or disconnected, at the latest by `readTimeout`. */
export function drained(call: Call): Promise<void> {
	const { req, res } = call;
	if (!connected(call) || !res.writableNeedDrain) return Promise.resolve();
	req.socket.setTimeout(call.engine.budgets.readTimeout.limit);
	const end = new Promise<void>((resolve) => {
		const ends = [
			[res, "drain"],
			[res, "close"],
			[req.socket, "close"],
		] as const;
		const done = (): void => {
			for (const [emitter, event] of ends) emitter.off(event, done);
			req.socket.setTimeout(0);
			resolve();
		};
		for (const [emitter, event] of ends) emitter.once(event, done);
	});
	return outside(call, end);
}

/** A wait that takes no time of the service (D41). */
export function outside<T>({ holds: { turn } }: Call, wait: Promise<T>): Promise<T> {
	return turn ? turn.outside(wait) : wait;
}
