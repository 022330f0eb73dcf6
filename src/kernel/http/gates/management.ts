/** Bounds and paces the management calls of a key (D41). */
import { ApiError } from "../../core/errors.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { principalOf } from "./auth.ts";
import type { Call } from "../exchange/call.ts";
import type { Route } from "../server/route.ts";

export function boundManagement(call: Call): void {
	if (call.caller.disconnected) return;
	const { management } = call.service;
	const budget = call.engine.budgets.management;
	const { keyId } = principalOf(call);
	const running = management.get(keyId) ?? 0;
	if (running >= budget.limit) {
		budget.refuse();
		throw new ApiError("management_busy", { limit: budget.limit });
	}
	management.set(keyId, running + 1);
	budget.hold(1);
	call.holds.release = () => {
		budget.give(1);
		const left = management.get(keyId)! - 1;
		if (left > 0) management.set(keyId, left);
		else management.delete(keyId);
	};
}

export async function inTurn(call: Call, route: Route): Promise<unknown> {
	const turn = await call.service.pace.enter(principalOf(call).keyId);
	call.holds.turn = turn;
	try {
		if (call.caller.disconnected) throw new ApiError("request_timeout");
		return await route.handle(call);
	} catch (error) {
		turn.end(error instanceof StoreUnavailable);
		throw error;
	} finally {
		turn.end();
	}
}
