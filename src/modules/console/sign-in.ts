/** Console sign-in and sign-out (D31). */
import type { AnswerOf } from "../../kernel/api/definition/route.ts";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import type { ApiKeys, Principal } from "../../kernel/engine/access/keys.ts";
import { isoTime } from "../../kernel/http/exchange/format.ts";
import { readNothing, readObject } from "../../kernel/http/exchange/object-body.ts";
import { holderNow, principalOf, wrongKey } from "../../kernel/http/gates/auth.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import { check, withDefaults } from "../../kernel/lib/schema.ts";
import { ERRORS } from "./errors.ts";
import type { Links } from "./links.ts";
import { type GET_SESSION, SIGN_IN_SCHEMA, type SIGN_IN_ROUTES, type SignIn } from "./routes.ts";
import { pageTokenIn, requireOwn, type SessionCookie } from "./session-cookie.ts";
import type { Sessions } from "./sessions.ts";
import { clientOf } from "./user-agent.ts";

export function signInHandlers({
	sessions,
	cookie,
	links,
	keys,
}: {
	sessions: Sessions;
	cookie: SessionCookie;
	links: Links;
	keys: ApiKeys;
}): HandlersOf<typeof SIGN_IN_ROUTES> {
	return {
		/** Single-use sign-in as the holder of the caller's key. */
		async createConsoleLink(call) {
			await readNothing(call);
			const holder = await holderNow(call);
			if (!holder)
				throw new ApiError("unauthorized", { why: "The API key or the console session has ended meanwhile." });
			const { path, until } = links.make(holder);
			return { path, expiresAt: isoTime(until) };
		},
		getSession: (call) => sessionOf(principalOf(call)),
		/** Only this answer contains the page token. Throws `console_link_over`. */
		async signIn(call) {
			// A foreign page could sign a visitor in with its own key.
			if (call.req.headers.origin !== undefined || call.req.headers["sec-fetch-site"] !== undefined)
				requireOwn(call, true);
			const body = await readObject(call);
			const faults = check(SIGN_IN_SCHEMA, body);
			if (faults.length > 0) throw badRequest(faults);
			const { key, link } = withDefaults(SIGN_IN_SCHEMA, body) as SignIn;
			if ((key === undefined) === (link === undefined))
				throw badRequest([{ field: "", message: "must have either key or link." }]);
			const peer = call.req.socket;
			const byLink = key === undefined;
			const holder = byLink ? await links.redeem(link ?? "", peer) : await keys.signIn(key.trim(), peer);
			if (!holder)
				throw wrongKey(
					call,
					byLink
						? new ApiError(ERRORS.console_link_over)
						: new ApiError("unauthorized", { why: "The API key is unknown." }),
				);
			const client = clientOf(call.req.headers["user-agent"]);
			const begun = await sessions.begin(holder, { byLink, client, peer });
			cookie.set(call, begun);
			call.identity.principal = holder.principal;
			call.identity.session = begun.id;
			return { ...sessionOf(holder.principal), pageToken: begun.pageToken };
		},
		async signOut(call) {
			const token = cookie.tokenIn(call);
			if (token !== undefined) requireOwn(call, true);
			await readNothing(call);
			const resumed = token === undefined ? undefined : await sessions.resume(token, pageTokenIn(call));
			if (resumed) {
				call.identity.principal = resumed.principal;
				call.identity.session = resumed.id;
				// Another tab or an administrator may have ended it.
				await sessions.end(resumed.id).catch((error: unknown) => {
					if (!(error instanceof ApiError)) throw error;
				});
			}
			cookie.clear(call);
			return {};
		},
	};
}

function sessionOf({ name, scopes, endpoints }: Principal): AnswerOf<typeof GET_SESSION> {
	return { principal: { name, scopes, endpoints } };
}
