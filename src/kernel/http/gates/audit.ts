/** Records actions in the audit log (D42). */
import { principalOf } from "./auth.ts";
import { type Call, isHead, paramOf } from "../exchange/call.ts";
import type { Route } from "../server/route.ts";

interface WithVariables {
	id: string;
	env: Readonly<Record<string, string>>;
}

/** Records that the caller is shown the values of these variables: in 10 minutes once for a key and an object. */
export async function auditShown(
	call: Call,
	{ name: action }: Pick<Route, "name">,
	objects: readonly WithVariables[],
): Promise<void> {
	const ids = objects.flatMap(({ id, env }) => (Object.keys(env).length > 0 ? [id] : []));
	if (isHead(call) || ids.length === 0) return;
	const { loggedRequestId: requestId } = call.res;
	await call.engine.access.audit.shown({ principal: principalOf(call), peer: call.req.socket, action, requestId, ids });
}

/**
 * Records changes by known administrators, sign-ins and sign-outs. `result`: `ok` or a code. `answer` may name what
 * was created, or say that nothing was changed (`applied`).
 */
export function audit(
	call: Call,
	{ name, path, access, audited }: Route,
	{ result, answer }: { result: string; answer?: unknown },
): Promise<void> | undefined {
	// HEAD has given nothing.
	if (isHead(call)) return undefined;
	if (!call.identity.principal || !(access === "admin" ? call.req.method !== "GET" : audited === true))
		return undefined;
	const { id, applied } = (answer ?? {}) as { id?: unknown; applied?: unknown };
	if (applied === false) return undefined;
	const own = audited ? (call.identity.session ?? "") : "";
	const params = [...path.matchAll(/:(\w+)/g)].map(([, param]) => paramOf(call, param!));
	const named = [...params, own].filter((each) => each !== "");
	return call.engine.access.audit.record({
		principal: principalOf(call),
		peer: call.req.socket,
		action: name,
		subject: named.length === 0 && typeof id === "string" ? [id] : named,
		result,
		requestId: call.res.loggedRequestId,
		repeatable: audited === true,
	});
}
