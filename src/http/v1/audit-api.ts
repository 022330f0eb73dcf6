/** `/v1/audit` (D42). */
import { ACTION_FILTER, KEY_FILTER, type LIST_AUDIT } from "../../api/audit.ts";
import { CURSOR, LIMIT } from "../../api/params.ts";
import type { AnswerOf } from "../../api/route.ts";
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { valueOf } from "../params.ts";
import type { Route } from "../route.ts";
import { isoTime } from "./format.ts";

/** GET /v1/audit: most recent first. */
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

/** Changes by administrators, sign-ins and sign-outs; refused callers are not known. */
export function isAudited({ principal, req }: Call, { access, audited }: Route): boolean {
	return principal !== undefined && (access === "admin" ? req.method !== "GET" : audited === true);
}

/** Records an audited call; `answer` may name what was created. */
export async function recordAction(
	call: Call,
	{ name, audited }: Route,
	{ result, answer }: { result: string; answer?: unknown },
): Promise<void> {
	const { id } = (answer ?? {}) as { id?: unknown };
	const { endpoint, worker, key, session, host, registry } = call.params;
	const own = audited ? (call.session ?? "") : "";
	const named = [endpoint, worker, key, session, host, registry, own].filter((each) => each !== "");
	await call.engine.access.audit.record({
		principal: principalOf(call),
		peer: call.req.socket,
		action: name,
		subject: named.length === 0 && typeof id === "string" ? [id] : named,
		result,
		repeatable: audited === true,
	});
}
