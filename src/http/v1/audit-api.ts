/** `/v1/audit` (D42). */
import type { LIST_AUDIT } from "../../api/audit.ts";
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
		cursor: valueOf(call, CURSOR),
		limit: valueOf(call, LIMIT),
	});
	return {
		entries: entries.map((entry) => ({ ...entry, at: isoTime(entry.at) })),
		next: next ?? null,
	};
}

/** Changes by administrators, and sign-ins; refused callers are not known. */
export function isAudited({ principal, req }: Call, { access, signIn }: Route): boolean {
	return principal !== undefined && (access === "admin" ? req.method !== "GET" : signIn === true);
}

/** Records an audited call; `answer` may name what was created. */
export async function recordAction(
	call: Call,
	{ name }: Route,
	{ result, answer }: { result: string; answer?: unknown },
): Promise<void> {
	const { id } = (answer ?? {}) as { id?: unknown };
	const { endpoint, worker, key } = call.params;
	const named = [endpoint, worker, key].filter((each) => each !== "");
	await call.engine.access.audit.record({
		principal: principalOf(call),
		peer: call.req.socket,
		action: name,
		subject: named.length === 0 && typeof id === "string" ? [id] : named,
		result,
	});
}
