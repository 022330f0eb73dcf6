import type { IncomingMessage } from "node:http";
import type { RouteDefinition } from "../../api/definition/route.ts";
import type { Engine } from "../../engine/engine.ts";
import type { KeyHolder, Principal } from "../../engine/access/keys.ts";
import type { Caller } from "../../engine/jobs/wait.ts";
import type { Worker } from "../../engine/workers/worker-registry.ts";
import type { RequestTrace } from "../../core/trace.ts";
import type { Connection, Connections } from "../server/connections.ts";
import type { MemoryShares, Owner } from "../memory/shares.ts";
import type { Traffic } from "../server/traffic.ts";
import type { Pace, Turn } from "../gates/pace.ts";
import type { Response } from "./response.ts";
import type { Param, ParamWithDefault } from "../../api/definition/params.ts";
import { badQuery } from "../../core/errors.ts";

export interface Service {
	connections: Connections;
	/** Management requests in flight by key. */
	management: Map<string, number>;
	memory: MemoryShares;
	pace: Pace;
	traffic: Traffic;
	/** May differ from `Host` behind a proxy. */
	publicUrl: URL | undefined;
	/** Address of a trace elsewhere, with `{traceId}`. */
	traceUrl: string | undefined;
	/** Identifies callers that send a cookie and no key. */
	authenticator: () => Promise<Authenticator | undefined>;
}

/** Identifies callers by another credential than a key (D31). */
export interface Authenticator {
	/**
	 * Returns the caller; undefined if the request has no such credential. Throws 401 if it is invalid. `changes`:
	 * whether the request has side effects.
	 */
	identify(call: Call, changes: boolean): Promise<Principal | undefined>;
	/**
	 * Returns the current state of the caller, undefined once its session has ended. Does not count as a use of the
	 * session.
	 */
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
	/** Hash of the worker's token, if it is a token for many workers. */
	sharedToken?: string;
}

export interface Holds {
	bytes: number;
	owner?: Owner;
	/** Ends the request's count among concurrent requests (D24, D41). */
	release?: (() => void) | undefined;
	/** Set while the handler of a paced route runs. */
	turn?: Turn;
}

/** A request in progress. `Params`: names of the parameters in the path of its route; their values are decoded. */
export interface Call<Params extends string = never> {
	req: IncomingMessage;
	res: Response;
	connection: Connection;
	engine: Engine;
	path: string;
	queryText: string;
	params: Readonly<Record<Params, string>>;
	/** Maximum bytes of the body; 0 without a route. */
	maxBody: number;
	/** Form of error bodies; undefined: Sluice's own. */
	errorForm: RouteDefinition["errorForm"];
	service: Service;
	identity: Identity;
	trace?: RequestTrace | undefined;
	holds: Holds;
	/** The client waits for a 100 before it sends the body. */
	isWaiting?: boolean;
	/** Id of the job that the request stored. */
	submitted?: string | undefined;
	/** Signals a disconnect to waiting operations. */
	caller: Caller;
}

/** Returns a parameter of the path, or "" if the route does not have it. */
export function paramOf({ params }: Call, name: string): string {
	return (params as Readonly<Record<string, string>>)[name] ?? "";
}

export function query(call: Call): URLSearchParams {
	return new URLSearchParams(call.queryText);
}

/** Whether the request is a HEAD: then nothing waits, is delivered, or changes, and the answer ends (D1). */
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

/** Waits for `wait` without charging the time to the caller (D41). */
export function outside<T>({ holds: { turn } }: Call, wait: Promise<T>): Promise<T> {
	return turn ? turn.outside(wait) : wait;
}

/** Returns the value of a query parameter, or its default. Throws `bad_query` if it is invalid. */
export function valueOf<T>(call: Call, param: ParamWithDefault<T>): T;
export function valueOf<T>(call: Call, param: Param<T>): T | undefined;
export function valueOf<T>(call: Call, param: Param<T>): T | undefined {
	if (call.queryText === "") return param.default;
	const text = query(call).get(param.name);
	if (text === null) return param.default;
	const value = param.read(text);
	if (value === undefined) throw badQuery(param.name, text, param.bound);
	return value;
}
