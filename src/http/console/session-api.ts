/** Console sign-in and sign-out (D31). */
import { SIGN_IN_SCHEMA } from "../../api/console.ts";
import type {
	CREATE_CONSOLE_LINK,
	GET_SESSION,
	SIGN_IN,
	SIGN_OUT,
	SignIn,
} from "../../api/console.ts";
import type { AnswerOf } from "../../api/route.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { check } from "../../core/schema.ts";
import type { Principal } from "../../engine/access/keys.ts";
import { principalOf, wrongKey } from "../auth.ts";
import type { Call } from "../call.ts";
import { readNothing, readObject } from "../v1/body.ts";
import { isoTime } from "../v1/format.ts";
import { placeOf } from "./origin.ts";
import { clearCookie, pageTokenIn, requireOwn, setCookie, tokenIn } from "./session-cookie.ts";

/** POST /v1/console-link: a single-use sign-in as the holder of the caller's key. */
export async function createLink(call: Call): Promise<AnswerOf<typeof CREATE_CONSOLE_LINK>> {
	await readNothing(call);
	const { path, until } = call.engine.access.consoleLinks.make(principalOf(call).keyId);
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
	if (call.req.headers.origin !== undefined || call.req.headers["sec-fetch-site"] !== undefined)
		requireOwn(call, true);
	const body = await readObject(call);
	const [first, ...rest] = check(SIGN_IN_SCHEMA, body);
	if (first) throw badRequest([first, ...rest]);
	const { key, link } = body as SignIn;
	if ((key === undefined) === (link === undefined))
		throw badRequest([{ field: "", message: "must have either key or link." }]);
	const { sessions, keys, consoleLinks } = call.engine.access;
	const keyId =
		key === undefined
			? consoleLinks.redeem(link ?? "")
			: (await keys.identify(key.trim(), call.req.socket))?.keyId;
	const holder = keyId === undefined ? undefined : await keys.holder(keyId);
	const begun = holder && (await sessions.begin({ ...holder.principal, place: placeOf(call) }));
	if (!begun)
		throw wrongKey(
			call,
			key === undefined
				? new ApiError("console_link_over")
				: new ApiError("unauthorized", { why: "The API key is unknown." }),
		);
	setCookie(call, begun);
	call.principal = holder.principal;
	return { ...sessionOf(call, holder.principal), pageToken: begun.pageToken };
}

/** DELETE /console/session: removes the cookie. */
export async function signOut(call: Call): Promise<AnswerOf<typeof SIGN_OUT>> {
	const token = tokenIn(call);
	if (token !== undefined) requireOwn(call, true);
	await readNothing(call);
	const resumed =
		token === undefined
			? undefined
			: await call.engine.access.sessions.resume(token, pageTokenIn(call));
	clearCookie(call, resumed?.place ?? placeOf(call));
	noStore(call);
	return {};
}

function sessionOf(
	call: Call,
	{ name, scopes, endpoints }: Principal,
): AnswerOf<typeof GET_SESSION> {
	noStore(call);
	return { principal: { name, scopes, endpoints } };
}

/** Answers about the session must not be cached. */
function noStore({ res }: Call): void {
	res.setHeader("Cache-Control", "no-store");
}
