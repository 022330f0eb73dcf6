/**
 * `/console/session` and `/console/link/{token}`: signing in to the console and out of it (D31).
 */
import { ApiError, badRequest } from "../../core/errors.ts";
import { check } from "../../core/schema.ts";
import { SIGN_IN_SCHEMA } from "../../core/sign-in.ts";
import type { Principal } from "../../engine/access/keys.ts";
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";
import { readNothing, readObject } from "../v1/body.ts";
import { redirect } from "./console-api.ts";
import { placeOf } from "./origin.ts";
import { clearCookie, requireOwn, setCookie, tokenIn } from "./session-cookie.ts";

/** No cache may keep who is signed in. */
const NO_STORE = ["Cache-Control", "no-store"];

/** GET /console/session: who is signed in, by cookie or key. */
export function session(call: Call): void {
	tell(call, principalOf(call));
}

/** POST /console/session: `{key}`; the holder of the key, with the cookie. */
export async function signIn(call: Call): Promise<void> {
	// A page elsewhere could sign its visitor in with a key of its own.
	if (call.req.headers.origin !== undefined || call.req.headers["sec-fetch-site"] !== undefined)
		requireOwn(call, true);
	const body = await readObject(call);
	const [first, ...rest] = check(SIGN_IN_SCHEMA, body);
	if (first) throw badRequest([first, ...rest]);
	const { sessions, keys } = call.engine.access;
	const principal = await keys.identify((body as { key: string }).key.trim());
	const begun =
		principal && (await sessions.begin({ keyId: principal.keyId, place: placeOf(call) }));
	if (!begun) throw new ApiError("unauthorized", { why: "The API key is not known here." });
	setCookie(call, begun);
	tell(call, principal);
}

/** DELETE /console/session: the browser has no cookie any more. */
export async function signOut(call: Call): Promise<void> {
	const token = tokenIn(call);
	if (token !== undefined) requireOwn(call, true);
	await readNothing(call);
	const resumed = token === undefined ? undefined : await call.engine.access.sessions.resume(token);
	clearCookie(call, resumed?.place ?? placeOf(call));
	json(call.res, "{}", NO_STORE);
}

/**
 * GET /console/link/{token}: signs in by a link that is good once, and leads to the console. Throws
 * `console_link_over`.
 */
export async function link(call: Call): Promise<void> {
	const { sessions, consoleLinks } = call.engine.access;
	const keyId = consoleLinks.take(call.params.token);
	const begun =
		keyId === undefined ? undefined : await sessions.begin({ keyId, place: placeOf(call) });
	if (begun) setCookie(call, begun);
	else if (!(await signedIn(call))) throw new ApiError("console_link_over");
	redirect(call, "../");
}

/** Whoever opens a link again is not stopped: a browser may have loaded it once by itself. */
async function signedIn(call: Call): Promise<boolean> {
	const token = tokenIn(call);
	return token !== undefined && (await call.engine.access.sessions.resume(token)) !== undefined;
}

function tell({ res }: Call, { name, scopes, endpoints }: Principal): void {
	json(res, JSON.stringify({ principal: { name, scopes, endpoints } }), NO_STORE);
}
