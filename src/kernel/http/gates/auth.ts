/** Authenticates by API key (D30), console session (D31) or worker token (D26), before the endpoint is checked (D3). */
import type { Clock } from "../../system/clock.ts";
import { isPlaceholder } from "../../core/workers/worker-env.ts";
import { ApiError } from "../../core/errors.ts";
import { type KeyHolder, may, type Principal } from "../../engine/access/keys.ts";
import type { Scope } from "../../core/access/key-request.ts";
import { type Call, paramOf } from "../exchange/call.ts";
import type { Route } from "../server/route.ts";

/** Delay of refused polls, because SDK workers retry at once, ms (D26). */
export const REFUSED_POLL_MS = 5000;

/** Delay of refused sign-ins and of guesses over the budget, ms (D31, D41). */
export const REFUSED_GUESS_MS = 1000;

/** The scheme is optional and in any case (spec 5). */
function presented(call: Call): string | undefined {
	const header = call.req.headers.authorization;
	if (header === undefined) return undefined;
	const match = /^(?:bearer\s+)?(\S+)\s*$/i.exec(header);
	return match?.[1];
}

/**
 * Throws 401, and 403 on routes whose form of errors says so. A key takes precedence over a session. `changes`: whether
 * a GET has side effects.
 */
export async function authenticate(
	call: Call,
	{ access, changes, workerTokens }: Pick<Route, "access" | "changes" | "workerTokens">,
): Promise<void> {
	const { req, engine, service, identity } = call;
	const key = presented(call);
	const principal =
		key === undefined
			? await byCookie(call, changes?.(call) ?? false)
			: ((await engine.access.keys.identify(key, req.socket)) ?? (workerTokens && (await byWorkerToken(call, key))));
	if (!principal)
		throw key === undefined
			? new ApiError("unauthorized", { why: "The request carries no API key." })
			: wrongKey(call, new ApiError("unauthorized", { why: "The API key is unknown." }));
	const code = call.errorForm?.forbids ? "forbidden" : "unauthorized";
	permit(principal, access as Scope, paramOf(call, "endpoint") || undefined, code);
	identity.principal = principal;
	service.connections.identified(call.connection);
}

async function byCookie(call: Call, changes: boolean): Promise<Principal | undefined> {
	if (call.req.headers.cookie === undefined) return undefined;
	return await (await call.service.authenticator())?.identify(call, changes);
}

/** A worker may read of its own endpoint. All workers of the endpoint have one pace. */
async function byWorkerToken(call: Call, token: string): Promise<Principal | undefined> {
	const endpoint = paramOf(call, "endpoint");
	const row = await call.engine.access.tokens.find({ token, endpoint, worker: undefined, peer: call.req.socket });
	return row && { keyId: `workers of ${endpoint}`, name: "worker token", scopes: ["read"], endpoints: [endpoint] };
}

/** Counts a wrong credential and returns its error (D41). */
export function wrongKey(call: Call, refusal: ApiError): ApiError {
	return call.engine.access.failures.count(call.req.socket) ?? refusal;
}

/** Throws without this scope or access to this endpoint (D30). */
export function permit(
	principal: Principal,
	scope: Scope,
	endpoint?: string,
	code: "unauthorized" | "forbidden" = "unauthorized",
): void {
	if (may(principal, scope, endpoint)) return;
	const { scopes, endpoints = [] } = principal;
	const why = may(principal, scope)
		? `The API key is valid for ${endpoints.length === 1 ? "endpoint" : "endpoints"} ${endpoints.join(", ")} only.`
		: `This needs an API key with the scope ${scope}; the one sent has ${scopes.join(", ")}.`;
	throw new ApiError(code, { why });
}

/** The caller's key as it is now. Undefined once the key or session has ended. Not a use. */
export async function holderNow(call: Call): Promise<KeyHolder | undefined> {
	return call.identity.session === undefined
		? await call.engine.access.keys.signIn(presented(call) ?? "")
		: await (await call.service.authenticator())?.holder(call);
}

/** Throws on routes without a scope. */
export function principalOf({ identity: { principal } }: Call): Principal {
	if (!principal) throw new Error("The route has no scope.");
	return principal;
}

/** Throws 401 if the worker's token is not valid for it. */
export async function authenticateWorker(call: Call): Promise<void> {
	const [endpoint, named] = [paramOf(call, "endpoint"), paramOf(call, "worker")];
	const worker = isPlaceholder(named) ? undefined : named;
	const token = presented(call);
	const refused = (why: string): ApiError => new ApiError("worker_unauthorized", { why, endpoint });
	if (token === undefined) throw refused("The worker sent no token.");
	if (worker !== undefined && !/^[a-zA-Z0-9_.:-]{1,128}$/.test(worker))
		throw refused("The worker id in the path must be 1 to 128 of the characters a-z, A-Z, 0-9, _, ., : and -.");
	const row = await call.engine.access.tokens.find({ token, endpoint, worker, peer: call.req.socket });
	if (!row) throw wrongKey(call, refused("The worker's token is not valid for this worker id and endpoint."));
	const meant = worker ?? row.worker;
	if (meant === undefined)
		throw refused(
			`The address has ${named} instead of a worker id, and the token is one for many workers: ` +
				"put the id of the worker there.",
		);
	// A worker that has not replaced the placeholder is the one that the token was made for.
	if (worker === undefined) call.params = { ...call.params, worker: meant } as Call["params"];
	call.identity.launchedAs = row.launchedAs;
	if (row.worker === undefined) call.identity.sharedToken = row.hash;
	call.service.connections.identified(call.connection);
	const found = call.engine.endpoints.find(endpoint);
	if (found instanceof Promise) await found;
}

/** The worker counts as seen now. Throws `too_many_worker_ids`. */
export function recordWorker(call: Call): void {
	const [endpoint, worker] = [paramOf(call, "endpoint"), paramOf(call, "worker")];
	call.identity.worker = call.engine.workers.recordCall({
		id: worker,
		endpoint,
		launchedAs: call.identity.launchedAs,
		token: call.identity.sharedToken,
		reports: call.req.method === "POST",
	});
}

/** Ends early on a disconnect. */
export async function delayRefusal(clock: Clock, call: Call, ms: number): Promise<void> {
	const left = new AbortController();
	call.caller.onDisconnect = () => left.abort();
	await clock.sleep(ms, left.signal);
}
