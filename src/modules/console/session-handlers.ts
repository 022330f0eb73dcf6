/** `/v1/sessions` (D31, D39). */
import { isoTime } from "../../kernel/http/exchange/format.ts";
import { readNothing } from "../../kernel/http/exchange/object-body.ts";
import { valueOf } from "../../kernel/http/exchange/call.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import { KEY_FILTER, type SESSION_ROUTES } from "./routes.ts";
import type { Sessions } from "./sessions.ts";

export function sessionHandlers(sessions: Sessions): HandlersOf<typeof SESSION_ROUTES> {
	return {
		async listSessions(call) {
			const all = await sessions.list();
			return {
				sessions: all.map(({ byLink, createdAt, lastUsedAt, until, ...rest }) => ({
					...rest,
					signIn: byLink ? "link" : "key",
					createdAt: isoTime(createdAt),
					lastUsedAt: isoTime(lastUsedAt),
					expiresAt: isoTime(until),
					current: rest.id === call.identity.session,
				})),
			};
		},
		async endSession(call) {
			await readNothing(call);
			await sessions.end(call.params.session);
			return {};
		},
		/** Ends all sessions, or those of one key, except the caller's. */
		async endSessions(call) {
			await readNothing(call);
			const keyId = valueOf(call, KEY_FILTER);
			return { ended: await sessions.endAll({ keyId, except: call.identity.session }) };
		},
	};
}
