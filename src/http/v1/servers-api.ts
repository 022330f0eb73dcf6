/** `/v1/servers`: the servers that share the store, for operators. */
import type { Call } from "../call.ts";
import { json } from "../reply.ts";
import { moment } from "./time.ts";

/**
 * GET /v1/servers: `{servers}`, the longest running first; none where only this one can open the
 * store.
 */
export function list(call: Call): void {
	json(
		call.res,
		JSON.stringify({
			servers: call.engine.cluster.members().map(({ id, url, startedAt, self, leads }) => ({
				id,
				url,
				startedAt: moment(startedAt),
				self,
				leads,
			})),
		}),
	);
}
