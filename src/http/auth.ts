/**
 * Who calls: a key holder (D30), by the key or by a session of the console (D31), or a worker
 * (D26). The key is checked before the endpoint (D3).
 */
import type { Clock } from "../clock.ts";
import { ApiError } from "../core/errors.ts";
import { may } from "../engine/access/keys.ts";
import type { Scope } from "../core/key-request.ts";
import type { Principal } from "../engine/access/keys.ts";
import type { Call } from "./call.ts";
import { fromCookie } from "./console/session-cookie.ts";

/** Refused polls are answered after this long, ms: SDK workers ask again at once (D26). */
export const REFUSED_POLL_MS = 5000;

/**
 * A wrong key at the console is told after this long, ms: who types one is not hurt, who tries many
 * is slowed (D31).
 */
export const REFUSED_SIGN_IN_MS = 1000;

/** The secret of the header, whose scheme word may be missing and in any case (spec 5). */
export function presented(call: Call): string | undefined {
	const header = call.req.headers.authorization;
	if (header === undefined) return undefined;
	const match = /^(?:bearer\s+)?(\S+)\s*$/i.exec(header);
	return match?.[1];
}

/**
 * Sets `principal`, or throws 401: key missing, wrong, or without permission. A key counts before a
 * session. `changes`: whether the request changes something, though it is a GET.
 */
export async function identify(
	call: Call,
	scope: Scope,
	changes?: (call: Call) => boolean,
): Promise<void> {
	const key = presented(call);
	const principal =
		key === undefined
			? await fromCookie(call, changes)
			: await call.engine.access.keys.identify(key);
	if (!principal)
		throw new ApiError("unauthorized", {
			why: key === undefined ? "The request carries no API key." : "The API key is not known here.",
		});
	permit(principal, scope, call.params.endpoint || undefined);
	call.principal = principal;
}

/**
 * Throws 401 for a caller that may not do something of this scope, on this endpoint where one is
 * given; the sentence says what it lacks (D30).
 */
export function permit(principal: Principal, scope: Scope, endpoint?: string): void {
	if (may(principal, scope, endpoint)) return;
	const { scopes, endpoints = [] } = principal;
	const why = may(principal, scope)
		? `The API key is good for ${endpoints.length === 1 ? "endpoint" : "endpoints"} ${endpoints.join(", ")} only.`
		: `This needs an API key with the scope ${scope}; the one sent has ${scopes.join(", ")}.`;
	throw new ApiError("unauthorized", { why });
}

/** The key holder behind the call; only for routes whose row asks for a scope. */
export function principalOf({ principal }: Call): Principal {
	if (!principal) throw new Error("The route identifies no key holder.");
	return principal;
}

/** Sets `worker`, or throws 401 for a token that is not good for this worker of this endpoint. */
export async function identifyWorker(call: Call): Promise<void> {
	const { endpoint, worker } = call.params;
	const token = presented(call);
	const refused = (why: string): ApiError => new ApiError("worker_unauthorized", { why, endpoint });
	if (token === undefined) throw refused("The worker sent no token.");
	if (!/^[a-zA-Z0-9_.:-]{1,128}$/.test(worker))
		throw refused(
			"The worker id in the path must be 1 to 128 of the characters a-z, A-Z, 0-9, _, ., : and -.",
		);
	if (!(await call.engine.access.tokens.admits({ token, endpoint, worker })))
		throw refused("The worker's token is not good for this worker id and endpoint.");
	const found = call.engine.endpoints.find(endpoint);
	if (found instanceof Promise) await found;
	call.worker = call.engine.workers.recordCall({ id: worker, endpoint });
}

/** Waits so long, ms, before a refusal, unless the caller hangs up. */
export async function pace(clock: Clock, call: Call, ms: number): Promise<void> {
	const gone = new AbortController();
	call.caller.left = () => gone.abort();
	await clock.sleep(ms, gone.signal);
}
