/** Rate and concurrency limits of an endpoint's operation (D24). */
import { type Call, paramOf } from "../exchange/call.ts";
import { quotaHeaders } from "../exchange/reply.ts";
import type { Route } from "../server/route.ts";

/** Holds the concurrency slot until the response closes, or throws 429. Synchronous on a single server. */
export function admit(call: Call, { limit: operation, creates }: Route): void | Promise<void> {
	const { endpoints, limits } = call.engine;
	const id = paramOf(call, "endpoint");
	if (id === "" || creates) return;
	return then(endpoints.find(id), (endpoint) => {
		if (!endpoint || !operation) return;
		return then(limits.admit({ endpoint, operation }), (admission) => {
			if (!admission) return;
			if (admission.quota) quotaHeaders(call.res, admission.quota);
			if (admission.refusal) throw admission.refusal;
			if (call.caller.disconnected) admission.release?.();
			else call.holds.release = admission.release;
		});
	});
}

/** Continues synchronously with a value that is no promise. */
function then<T>(value: T | Promise<T>, next: (value: T) => void | Promise<void>): void | Promise<void> {
	return value instanceof Promise ? value.then(next) : next(value);
}
