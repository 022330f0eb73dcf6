/** Deletes endpoints: their jobs are cancelled, then their rows are removed (D39). */
import { loop, type Loop } from "../../system/loop.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { EndpointRegistry } from "./endpoint-registry.ts";

/** Jobs in one step, so that other operations get their turn. */
const CANCEL_LIMIT = 500;

const CHECK_MS = 1000;

export function endpointRemoval(d: EngineContext & { registry: EndpointRegistry; cluster: Cluster }): Loop {
	const { registry, store } = d;
	return loop({
		clock: d.clock,
		retryMs: CHECK_MS,
		onError: (error) => d.events.emit("fault", { where: "deleting endpoints", error }),
		step: async () => {
			if (!d.cluster.leads("removal")) return CHECK_MS;
			for (const id of registry.removing()) {
				const { left } = await store.jobs.cancelAll({ endpoint: id, limit: CANCEL_LIMIT, now: d.now() });
				if (left) return 0;
				if (!(await store.endpoints.forget({ id, now: d.now() }))) continue;
				registry.deleted(id);
				d.events.emit("endpoint.deleted", { endpoint: id });
			}
			return CHECK_MS;
		},
	});
}
