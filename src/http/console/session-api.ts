/** Console sign-in and sign-out (D31). */
import { SIGN_IN_SCHEMA } from "../../api/console.ts";
import type { CREATE_CONSOLE_LINK, GET_SESSION, SIGN_OUT, SignIn } from "../../api/console.ts";
import type { AnswerOf } from "../../api/route.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { check } from "../../core/schema.ts";
import type { Principal } from "../../engine/access/keys.ts";
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { readNothing, readObject } from "../v1/body.ts";
import { isoTime } from "../v1/format.ts";
import { redirect } from "./console-api.ts";
import { placeOf } from "./origin.ts";
import { clearCookie, requireOwn, setCookie, tokenIn } from "./session-cookie.ts";

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

/** POST /console/session: `{key}`; sets the cookie. */
export async function signIn(call: Call): Promise<AnswerOf<typeof GET_SESSION>> {
	// Foreign pages could sign a visitor in with their own key.
	if (call.req.headers.origin !== undefined || call.req.headers["sec-fetch-site"] !== undefined)
		requireOwn(call, true);
	const body = await readObject(call);
	const [first, ...rest] = check(SIGN_IN_SCHEMA, body);
	if (first) throw badRequest([first, ...rest]);
	const { sessions, keys } = call.engine.access;
	const principal = await keys.identify((body as SignIn).key.trim());
	const begun =
		principal && (await sessions.begin({ keyId: principal.keyId, place: placeOf(call) }));
	if (!begun) throw new ApiError("unauthorized", { why: "The API key is not known here." });
	setCookie(call, begun);
	return sessionOf(call, principal);
}

/** DELETE /console/session: removes the cookie. */
export async function signOut(call: Call): Promise<AnswerOf<typeof SIGN_OUT>> {
	const token = tokenIn(call);
	if (token !== undefined) requireOwn(call, true);
	await readNothing(call);
	const resumed = token === undefined ? undefined : await call.engine.access.sessions.resume(token);
	clearCookie(call, resumed?.place ?? placeOf(call));
	noStore(call);
	return {};
}

/** GET /console/link/{token}: single-use sign-in. Throws `console_link_over`. */
export async function link(call: Call): Promise<void> {
	const { sessions, consoleLinks } = call.engine.access;
	const keyId = consoleLinks.redeem(call.params.token);
	const begun =
		keyId === undefined ? undefined : await sessions.begin({ keyId, place: placeOf(call) });
	if (begun) setCookie(call, begun);
	else if (!(await signedIn(call))) throw new ApiError("console_link_over");
	redirect(call, "../");
}

/** A used link still works for its user: browsers may load an address twice. */
async function signedIn(call: Call): Promise<boolean> {
	const token = tokenIn(call);
	return token !== undefined && (await call.engine.access.sessions.resume(token)) !== undefined;
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
