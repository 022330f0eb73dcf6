/** Process health for supervisors and load balancers, and the servers (D40). */
import type { AnswerOf } from "../api/route.ts";
import type { HEALTHZ, LIST_SERVERS, READYZ } from "../api/service.ts";
import { ApiError } from "../core/errors.ts";
import type { Call } from "./call.ts";
import { isoJobTime } from "./v1/format.ts";

/** GET /healthz. */
export function alive(): AnswerOf<typeof HEALTHZ> {
	return { ok: true };
}

/** GET /readyz: 503 while draining or without the store (D40). */
export async function ready({ engine }: Call): Promise<AnswerOf<typeof READYZ>> {
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	await engine.ready();
	return { ready: true };
}

/** GET /v1/servers: longest running first; empty if only this one can open the store. */
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
