import type { IncomingMessage } from "node:http";
import type { RouteDefinition } from "../../api/definition/route.ts";
import type { Engine } from "../../engine/engine.ts";
import type { KeyHolder, Principal } from "../../engine/access/keys.ts";
import type { Caller } from "../../engine/jobs/wait.ts";
import type { Worker } from "../../engine/workers/worker-registry.ts";
import type { RequestTrace } from "../../core/trace-hooks.ts";
import type { Connection, Connections } from "../server/connections.ts";
import type { MemoryShares, Owner } from "../memory/shares.ts";
import type { RecentLines } from "../../system/recent-lines.ts";
import type { Traffic } from "../server/traffic.ts";
import type { Pace, Turn } from "../gates/pace.ts";
import type { Response } from "./response.ts";

export interface Service {
	connections: Connections;
	/** Management requests in flight by key. */
	management: Map<string, number>;
	memory: MemoryShares;
	pace: Pace;
	/** The log of the service. */
	log: RecentLines;
	traffic: Traffic;
	/** May differ from `Host` behind a proxy. */
	publicUrl: URL | undefined;
	/** Address of a trace elsewhere, with `{traceId}`. */
	traceUrl: string | undefined;
	/** Asked for requests with a cookie and without a key. */
	authenticator: () => Promise<Authenticator | undefined>;
}

/** Another credential than a key (D31). */
export interface Authenticator {
	/** Undefined without one. Throws 401 for one that is not valid. `changes`: whether the request has side effects. */
	identify(call: Call, changes: boolean): Promise<Principal | undefined>;
	/** The caller as it is now. Undefined once it has ended. Not a use. */
	holder(call: Call): Promise<KeyHolder | undefined>;
}

export interface Identity {
	/** Set on routes with a scope. */
	principal?: Principal;
	/** Console session that the caller uses, begins or ends. */
	session?: string;
	/** Set on worker routes. */
	worker?: Worker;
	/** Launch hash of that worker, from its token. */
	launchedAs?: string | undefined;
	/** Hash of its token, if that is one for many workers. */
	sharedToken?: string;
}

export interface Holds {
	bytes: number;
	owner?: Owner;
	/** Frees a place among concurrent requests (D24, D41). */
	release?: (() => void) | undefined;
	/** Set while the handler of a paced route runs. */
	turn?: Turn;
}

/** `Params`: names of the parameters in the path of its route. They are decoded. */
export interface Call<Params extends string = never> {
	req: IncomingMessage;
	res: Response;
	connection: Connection;
	engine: Engine;
	path: string;
	queryText: string;
	params: Readonly<Record<Params, string>>;
	/** Bytes. 0 without a route. */
	maxBody: number;
	/** Undefined: our form. */
	errorForm: RouteDefinition["errorForm"];
	service: Service;
	identity: Identity;
	trace?: RequestTrace | undefined;
	holds: Holds;
	/** Id of the job that it stored. */
	submitted?: string | undefined;
	/** Signals a disconnect to waiting operations. */
	caller: Caller;
}

/** A parameter of a path that may not have it: then "". */
export function paramOf({ params }: Call, name: string): string {
	return (params as Readonly<Record<string, string>>)[name] ?? "";
}

export function query(call: Call): URLSearchParams {
	return new URLSearchParams(call.queryText);
}

/** Whether only the headers are asked for: a GET that waits, delivers, changes or never ends then does not (D1). */
export function isHead({ req }: Call): boolean {
	return req.method === "HEAD";
}

export function connected({ req, res }: Call): boolean {
	// Only the first of pipelined responses has a socket, so the request's is used.
	return !res.destroyed && !req.socket.destroyed && req.socket.writable;
}

/** Resolves when the client has read or disconnected, at the latest after `readTimeout`. */
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

/** Waits without charging the caller (D41). */
export function outside<T>({ holds: { turn } }: Call, wait: Promise<T>): Promise<T> {
	return turn ? turn.outside(wait) : wait;
}
