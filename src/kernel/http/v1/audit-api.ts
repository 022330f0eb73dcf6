/** `/v1/audit` (D42). */
import { ACTION_FILTER, KEY_FILTER, type LIST_AUDIT } from "../../api/audit.ts";
import { CURSOR, LIMIT } from "../../api/definition/params.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";
import { valueOf } from "../exchange/params.ts";
import { isoTime } from "../exchange/format.ts";

export async function list(call: Call): Promise<AnswerOf<typeof LIST_AUDIT>> {
	const { entries, next } = await call.engine.access.audit.list({
		keyId: valueOf(call, KEY_FILTER),
		action: valueOf(call, ACTION_FILTER),
		cursor: valueOf(call, CURSOR),
		limit: valueOf(call, LIMIT),
	});
	return {
		entries: entries.map((entry) => ({ ...entry, at: isoTime(entry.at) })),
		next: next ?? null,
	};
}
