/** The cookie of a console session (D31). */
import { parseCookie, stringifySetCookie } from "cookie";
import { ApiError } from "../../core/errors.ts";
import type { Principal } from "../../engine/access/keys.ts";
import type { BegunSession } from "../../engine/access/sessions.ts";
import { type Call, isHead } from "../exchange/call.ts";
import { placeOf, sourceOf } from "./origin.ts";

/** Methods without side effects, except on routes with `changes`. */
const SAFE = ["GET", "HEAD", "OPTIONS"];

/** Another port of the host cannot set a cookie with a prefix over HTTP. */
const PREFIXES = ["__Host-", "__Secure-", ""] as const;

export function tokenIn({ req, engine }: Call): string | undefined {
	const { cookie } = req.headers;
	if (cookie === undefined) return undefined;
	const cookies = parseCookie(cookie);
	const prefix = PREFIXES.find((each) => cookies[each + engine.access.sessions.cookie]);
	return prefix === undefined ? undefined : cookies[prefix + engine.access.sessions.cookie];
}

/** Sent by the console with the cookie. "" without one. */
export function pageTokenIn({ req }: Call): string {
	const token = req.headers["sluice-page-token"];
	return typeof token === "string" ? token : "";
}

/**
 * Undefined without a cookie. Throws 401 for an ended session, a foreign page, or a change without a known origin.
 * `changes`: whether a GET has side effects.
 */
export async function fromCookie(call: Call, changes?: (call: Call) => boolean): Promise<Principal | undefined> {
	const token = tokenIn(call);
	if (token === undefined) return undefined;
	requireOwn(call, changes?.(call) ?? false);
	const pageToken = pageTokenIn(call);
	if (pageToken === "")
		throw new ApiError("unauthorized", {
			why: "The cookie of a console session is valid only with the header Sluice-Page-Token of its sign-in.",
		});
	const { sessions, failures } = call.engine.access;
	const resumed = await sessions.resume(token, pageToken, call.req.socket, !isHead(call));
	if (!resumed) {
		// Counted because each guess costs a read. A browser needs the 401 to sign in again.
		failures.count(call.req.socket);
		throw new ApiError("unauthorized", {
			why: "The console session has ended, or its key was revoked: sign in again.",
		});
	}
	call.identity.session = resumed.id;
	return resumed.principal;
}

/** Throws 401 for a foreign page, and for a change without the console's origin. */
export function requireOwn(call: Call, changes: boolean): void {
	const { method = "", headers } = call.req;
	const unsafe = !SAFE.includes(method);
	const source = sourceOf(call);
	if (source === "own" && (!unsafe || headers.origin !== undefined)) return;
	if (source === "unknown" && !unsafe && !changes) return;
	throw new ApiError("unauthorized", {
		why:
			source === "foreign"
				? "A console session is valid for the console's own pages only; this request came from another origin."
				: "With a console session this needs the header Origin of the console, as browsers send it.",
	});
}

export function setCookie(call: Call, { token, until }: BegunSession): void {
	put(call, token, Math.floor((until - call.engine.calendar.now()) / 1000));
}

export function clearCookie(call: Call): void {
	put(call, "", 0);
}

function put(call: Call, value: string, maxAge: number): void {
	const { path, secure } = placeOf(call);
	const prefix = secure ? (path === "/" ? "__Host-" : "__Secure-") : "";
	const name = prefix + call.engine.access.sessions.cookie;
	call.res.setHeader(
		"Set-Cookie",
		stringifySetCookie({ name, value, maxAge, path, secure, httpOnly: true, sameSite: "strict" }),
	);
}
