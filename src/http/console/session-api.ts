/** Console sign-in and sign-out (D31). */
import {
	type CREATE_CONSOLE_LINK,
	type GET_SESSION,
	type SIGN_IN,
	SIGN_IN_SCHEMA,
	type SIGN_OUT,
	type SignIn,
} from "../../api/console.ts";
import type { AnswerOf } from "../../api/route.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { check } from "../../core/schema.ts";
import type { Principal } from "../../engine/access/keys.ts";
import { holderNow, principalOf, wrongKey } from "../auth.ts";
import type { Call } from "../call.ts";
import { readNothing, readObject } from "../v1/body.ts";
import { isoTime } from "../v1/format.ts";
import { clearCookie, pageTokenIn, requireOwn, setCookie, tokenIn } from "./session-cookie.ts";
import { clientOf } from "./user-agent.ts";

/** POST /v1/console-link: a single-use sign-in as the holder of the caller's key. */
export async function createLink(call: Call): Promise<AnswerOf<typeof CREATE_CONSOLE_LINK>> {
	await readNothing(call);
	const holder = await holderNow(call);
	if (!holder) throw new ApiError("unauthorized", { why: "The API key or the console session has ended meanwhile." });
	const { path, until } = call.engine.access.consoleLinks.make(holder);
	noStore(call);
	return { path, expiresAt: isoTime(until) };
}

/** GET /console/session: the caller by cookie or key. */
export function session(call: Call): AnswerOf<typeof GET_SESSION> {
	return sessionOf(call, principalOf(call));
}

/**
 * POST /console/session: `{key}` or `{link}`; sets the cookie. Only this answer contains the page
 * token. Throws `console_link_over`.
 */
export async function signIn(call: Call): Promise<AnswerOf<typeof SIGN_IN>> {
	// Foreign pages could sign a visitor in with their own key.
	if (call.req.headers.origin !== undefined || call.req.headers["sec-fetch-site"] !== undefined) requireOwn(call, true);
	const body = await readObject(call);
	const [first, ...rest] = check(SIGN_IN_SCHEMA, body);
	if (first) throw badRequest([first, ...rest]);
	const { key, link } = body as SignIn;
	if ((key === undefined) === (link === undefined))
		throw badRequest([{ field: "", message: "must have either key or link." }]);
	const { sessions, keys, consoleLinks } = call.engine.access;
	const peer = call.req.socket;
	const byLink = key === undefined;
	const holder = byLink ? await consoleLinks.redeem(link ?? "", peer) : await keys.signIn(key.trim(), peer);
	if (!holder)
		throw wrongKey(
			call,
			byLink ? new ApiError("console_link_over") : new ApiError("unauthorized", { why: "The API key is unknown." }),
		);
	const client = clientOf(call.req.headers["user-agent"]);
	const begun = await sessions.begin(holder, { byLink, client, peer });
	setCookie(call, begun);
	call.identity.principal = holder.principal;
	call.identity.session = begun.id;
	return { ...sessionOf(call, holder.principal), pageToken: begun.pageToken };
}

/** DELETE /console/session: ends the session and removes the cookie. */
export async function signOut(call: Call): Promise<AnswerOf<typeof SIGN_OUT>> {
	const token = tokenIn(call);
	if (token !== undefined) requireOwn(call, true);
	await readNothing(call);
	const { sessions } = call.engine.access;
	const resumed = token === undefined ? undefined : await sessions.resume(token, pageTokenIn(call));
	if (resumed) {
		call.identity.principal = resumed.principal;
		call.identity.session = resumed.id;
		// Another tab or an administrator may have ended it by now.
		await sessions.end(resumed.id).catch((error: unknown) => {
			if (!(error instanceof ApiError)) throw error;
		});
	}
	clearCookie(call);
	noStore(call);
	return {};
}

function sessionOf(call: Call, { name, scopes, endpoints }: Principal): AnswerOf<typeof GET_SESSION> {
	noStore(call);
	return { principal: { name, scopes, endpoints } };
}

/** Answers about the session must not be cached. */
function noStore({ res }: Call): void {
	res.setHeader("Cache-Control", "no-store");
}
