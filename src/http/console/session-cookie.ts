/**
 * The cookie that holds a session of the console (D31): read from a request, set with an answer,
 * and what it allows.
 */
import { ApiError } from "../../core/errors.ts";
import type { Principal } from "../../engine/access/keys.ts";
import type { SignInOrigin, Session } from "../../engine/access/sessions.ts";
import type { Call } from "../call.ts";
import { sourceOf } from "./origin.ts";

/** Methods that change nothing, but for routes that say so. */
const SAFE = ["GET", "HEAD", "OPTIONS"];

/** The token in the cookie of this service. */
export function tokenIn({ req, engine }: Call): string | undefined {
	const start = `${engine.access.sessions.cookie}=`;
	return req.headers.cookie
		?.split(/; */)
		.find((each) => each.startsWith(start))
		?.slice(start.length);
}

/**
 * The caller behind the cookie, undefined without one. A session that is used goes on. Throws 401
 * for a session that is over, and where the cookie may not count: for a page of another origin, and
 * for a change by a request that does not show its origin. `changes`: whether it changes something
 * though it is a GET.
 */
export async function fromCookie(
	call: Call,
	changes?: (call: Call) => boolean,
): Promise<Principal | undefined> {
	const token = tokenIn(call);
	if (token === undefined) return undefined;
	requireOwn(call, changes?.(call) ?? false);
	const resumed = await call.engine.access.sessions.resume(token);
	if (!resumed)
		throw new ApiError("unauthorized", {
			why: "The session of the console is over, or its key has ended: sign in again.",
		});
	if (resumed.renewed) setCookie(call, resumed.renewed);
	return resumed.principal;
}

/**
 * Throws 401 unless the request may be one of the console's own pages; a request that changes
 * something must show it.
 */
export function requireOwn(call: Call, changes: boolean): void {
	const { method = "", headers } = call.req;
	const unsafe = !SAFE.includes(method);
	const source = sourceOf(call);
	if (source === "own" && (!unsafe || headers.origin !== undefined)) return;
	if (source === "untold" && !unsafe && !changes) return;
	throw new ApiError("unauthorized", {
		why:
			source === "foreign"
				? "The session of the console counts for its own pages only; this request came from another origin."
				: "With the session of the console this needs a header Origin that is its own, as browsers send it.",
	});
}

/** Sets the cookie, in place of the one before. */
export function setCookie(call: Call, { token, until, place }: Session): void {
	put(call, place, token, Math.floor((until - call.engine.now()) / 1000));
}

/** Takes the cookie away. */
export function clearCookie(call: Call, place: SignInOrigin): void {
	put(call, place, "", 0);
}

function put(
	{ res, engine }: Call,
	{ path, secure }: SignInOrigin,
	value: string,
	maxAge: number,
): void {
	res.setHeader(
		"Set-Cookie",
		`${engine.access.sessions.cookie}=${value}; Max-Age=${maxAge}; Path=${path}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`,
	);
}
