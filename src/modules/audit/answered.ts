/** Which calls have entries in the audit log, and what these say (D42). */
import type { RouteDefinition } from "../../kernel/api/definition/route.ts";
import { type Call, isHead, paramOf } from "../../kernel/http/exchange/call.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import type { Answered, AnsweredOf, Outcome } from "../../kernel/http/server/route.ts";
import type { AuditLog } from "./audit-log.ts";

/** Changes by administrators, sign-ins and sign-outs, and reads of values of variables. */
export function answeredOf(log: AuditLog): AnsweredOf {
	return (route) => {
		if (route.showsValues) return shownBy(log, route);
		if (route.methods.includes("GET")) return undefined;
		return route.access === "admin" || route.session ? changedBy(log, route) : undefined;
	};
}

/** Calls of known callers. The answer may name what was created, or say that nothing was changed (`applied`). */
function changedBy(log: AuditLog, { name: action, path, session }: RouteDefinition): Answered {
	const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
	return async (call, { result, answer }) => {
		if (!call.identity.principal) return;
		const { id, applied } = (answer ?? {}) as { id?: unknown; applied?: unknown };
		if (applied === false) return;
		const own = session ? (call.identity.session ?? "") : "";
		const named = [...names.map((name) => paramOf(call, name)), own].filter((each) => each !== "");
		await log.record({
			...callerOf(call),
			action,
			subject: named.length === 0 && typeof id === "string" ? [id] : named,
			result,
			repeatable: session === true,
		});
	};
}

/** Values of variables that the caller is shown: in 10 minutes once for a key and an object. */
function shownBy(log: AuditLog, { name: action }: RouteDefinition): Answered {
	return async (call, { result, answer }) => {
		if (result !== "ok" || isHead(call)) return;
		const ids = objectsIn(answer).flatMap(({ id, env = {} }) => (Object.keys(env).length > 0 ? [id] : []));
		if (ids.length > 0) await log.shown({ ...callerOf(call), action, ids });
	};
}

interface WithVariables {
	id: string;
	env?: Readonly<Record<string, string>>;
}

/** An answer is one object, or a page of some. */
function objectsIn(answer: Outcome["answer"]): WithVariables[] {
	const members = answer as WithVariables | Readonly<Record<string, unknown>>;
	if ("id" in members) return [members as WithVariables];
	return Object.values(members).flatMap((member) => (Array.isArray(member) ? (member as WithVariables[]) : []));
}

function callerOf(call: Call) {
	return { principal: principalOf(call), peer: call.req.socket, requestId: call.res.loggedRequestId };
}
