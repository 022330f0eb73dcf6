/** Console sessions (D31, D39). */
import type { AnswerOf } from "../../api/definition/route.ts";
import { type END_SESSION, type END_SESSIONS, KEY_FILTER, type LIST_SESSIONS } from "../../api/sessions.ts";
import type { Call } from "../exchange/call.ts";
import { valueOf } from "../exchange/params.ts";
import { readNothing } from "../exchange/object-body.ts";
import { isoTime } from "../exchange/format.ts";

export async function list(call: Call): Promise<AnswerOf<typeof LIST_SESSIONS>> {
	const sessions = await call.engine.access.sessions.list();
	return {
		sessions: sessions.map(({ byLink, createdAt, lastUsedAt, until, ...rest }) => ({
			...rest,
			signIn: byLink ? "link" : "key",
			createdAt: isoTime(createdAt),
			lastUsedAt: isoTime(lastUsedAt),
			expiresAt: isoTime(until),
			current: rest.id === call.identity.session,
		})),
	};
}

export async function end(call: Call<"session">): Promise<AnswerOf<typeof END_SESSION>> {
	await readNothing(call);
	await call.engine.access.sessions.end(call.params.session);
	return {};
}

/** Ends all sessions, or those of one key, except the caller's. */
export async function endAll(call: Call): Promise<AnswerOf<typeof END_SESSIONS>> {
	await readNothing(call);
	const keyId = valueOf(call, KEY_FILTER);
	return { ended: await call.engine.access.sessions.endAll({ keyId, except: call.identity.session }) };
}
