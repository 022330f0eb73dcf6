/** Requests with the cookie of a session (D31). */
import { ApiError } from "../../kernel/core/errors.ts";
import type { Failures } from "../../kernel/engine/access/failures.ts";
import { type Authenticator, isHead } from "../../kernel/http/exchange/call.ts";
import { pageTokenIn, requireOwn, type SessionCookie } from "./session-cookie.ts";
import type { Sessions } from "./sessions.ts";

export function authenticator(sessions: Sessions, cookie: SessionCookie, failures: Failures): Authenticator {
	return {
		async identify(call, changes) {
			const token = cookie.tokenIn(call);
			if (token === undefined) return undefined;
			requireOwn(call, changes);
			const pageToken = pageTokenIn(call);
			if (pageToken === "")
				throw new ApiError("unauthorized", {
					why: "The cookie of a console session is valid only with the header Sluice-Page-Token of its sign-in.",
				});
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
		},
		holder: async (call) => await sessions.resume(cookie.tokenIn(call) ?? "", pageTokenIn(call)),
	};
}
