/** The cookie of a console session (D31). */
import { parseCookie, stringifySetCookie } from "cookie";
import { ApiError } from "../../kernel/core/errors.ts";
import type { BegunSession, Sessions } from "./sessions.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { placeOf, sourceOf } from "./origin.ts";

/** Methods without side effects, except on routes with `changes`. */
const SAFE = ["GET", "HEAD", "OPTIONS"];

/** Another port of the host cannot set a cookie with a prefix over HTTP. */
const PREFIXES = ["__Host-", "__Secure-", ""] as const;

/** Sent by the console with the cookie. "" without one. */
export function pageTokenIn({ req }: Call): string {
	const token = req.headers["sluice-page-token"];
	return typeof token === "string" ? token : "";
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

export type SessionCookie = ReturnType<typeof sessionCookie>;

/** `cookie`: its name, to which a prefix is added. */
export function sessionCookie({ cookie }: Pick<Sessions, "cookie">) {
	function put(call: Call, value: string, maxAge: number): void {
		const { path, secure } = placeOf(call);
		const prefix = secure ? (path === "/" ? "__Host-" : "__Secure-") : "";
		call.res.setHeader(
			"Set-Cookie",
			stringifySetCookie({ name: prefix + cookie, value, maxAge, path, secure, httpOnly: true, sameSite: "strict" }),
		);
	}

	return {
		tokenIn({ req }: Call): string | undefined {
			const { cookie: sent } = req.headers;
			if (sent === undefined) return undefined;
			const cookies = parseCookie(sent);
			const prefix = PREFIXES.find((each) => cookies[each + cookie]);
			return prefix === undefined ? undefined : cookies[prefix + cookie];
		},
		set(call: Call, { token, until }: BegunSession): void {
			put(call, token, Math.floor((until - call.engine.calendar.now()) / 1000));
		},
		clear: (call: Call): void => put(call, "", 0),
	};
}
