/** Console sign-in and sign-out (D31). */
import {
	type CREATE_CONSOLE_LINK,
	type GET_SESSION,
	type SIGN_IN,
	SIGN_IN_SCHEMA,
	type SIGN_OUT,
	type SignIn,
} from "../../api/console.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { check } from "../../lib/schema.ts";
import type { Principal } from "../../engine/access/keys.ts";
import { holderNow, principalOf, wrongKey } from "../gates/auth.ts";
import type { Call } from "../exchange/call.ts";
import { readNothing, readObject } from "../exchange/object-body.ts";
import { isoTime } from "../exchange/format.ts";
import { clearCookie, pageTokenIn, requireOwn, setCookie, tokenIn } from "./session-cookie.ts";
import { clientOf } from "./user-agent.ts";

/** Single-use sign-in as the holder of the caller's key. */
export async function createLink(call: Call): Promise<AnswerOf<typeof CREATE_CONSOLE_LINK>> {
	await readNothing(call);
	const holder = await holderNow(call);
	if (!holder) throw new ApiError("unauthorized", { why: "The API key or the console session has ended meanwhile." });
	const { path, until } = call.engine.access.consoleLinks.make(holder);
	return { path, expiresAt: isoTime(until) };
}

export function session(call: Call): AnswerOf<typeof GET_SESSION> {
	return sessionOf(principalOf(call));
}

/** Only this answer contains the page token. Throws `console_link_over`. */
export async function signIn(call: Call): Promise<AnswerOf<typeof SIGN_IN>> {
	// A foreign page could sign a visitor in with its own key.
	if (call.req.headers.origin !== undefined || call.req.headers["sec-fetch-site"] !== undefined) requireOwn(call, true);
	const body = await readObject(call);
	const faults = check(SIGN_IN_SCHEMA, body);
	if (faults.length > 0) throw badRequest(faults);
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
	return { ...sessionOf(holder.principal), pageToken: begun.pageToken };
}

export async function signOut(call: Call): Promise<AnswerOf<typeof SIGN_OUT>> {
	const token = tokenIn(call);
	if (token !== undefined) requireOwn(call, true);
	await readNothing(call);
	const { sessions } = call.engine.access;
	const resumed = token === undefined ? undefined : await sessions.resume(token, pageTokenIn(call));
	if (resumed) {
		call.identity.principal = resumed.principal;
		call.identity.session = resumed.id;
		// Another tab or an administrator may have ended it.
		await sessions.end(resumed.id).catch((error: unknown) => {
			if (!(error instanceof ApiError)) throw error;
		});
	}
	clearCookie(call);
	return {};
}

function sessionOf({ name, scopes, endpoints }: Principal): AnswerOf<typeof GET_SESSION> {
	return { principal: { name, scopes, endpoints } };
}
