/** Process health and the list of servers (D40). */
import type { AnswerOf } from "../../api/definition/route.ts";
import type { HEALTHZ, LIST_SERVERS, READYZ, SERVICE_ROUTES } from "../../api/service.ts";
import { ApiError } from "../../core/errors.ts";
import type { Call } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import type { HandlersOf } from "./route.ts";

export function alive(): AnswerOf<typeof HEALTHZ> {
	return { ok: true };
}

/** 503 while draining or without the store (D40). */
export async function ready({ engine }: Call): Promise<AnswerOf<typeof READYZ>> {
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	await engine.ready();
	return { ready: true };
}

/** The longest running is first. Empty if only this server can open the store. */
export function listServers({ engine }: Call): AnswerOf<typeof LIST_SERVERS> {
	return {
		servers: engine.cluster.members().map(({ id, url, startedAt, self, leads }) => ({
			id,
			url,
			startedAt: isoJobTime(engine, startedAt),
			self,
			leads,
		})),
	};
}

export const SERVICE_HANDLERS: HandlersOf<typeof SERVICE_ROUTES> = {
	listServers,
	healthz: alive,
	readyz: ready,
};
