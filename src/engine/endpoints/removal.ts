/** Completes the deletion of endpoints: their jobs are cancelled, then their rows go (D39). */
import { loop, type Loop } from "../../service.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { EndpointRegistry } from "./endpoint-registry.ts";

/** Jobs cancelled in one step, so that other operations get their turn. */
const CANCEL_LIMIT = 500;

/** Time between two checks for endpoints to delete, ms. */
const CHECK_MS = 1000;

interface Deps extends Pick<EngineContext, "clock" | "now" | "events" | "store"> {
	registry: EndpointRegistry;
	/** One server does it for all. */
	cluster: Pick<Cluster, "leads">;
}

export function endpointRemoval(d: Deps): Loop {
	const { registry, store } = d;
	return loop({
		clock: d.clock,
		retryMs: CHECK_MS,
		onError: (error) => d.events.emit("fault", { where: "deleting endpoints", error }),
		step: async () => {
			if (!d.cluster.leads("removal")) return CHECK_MS;
			for (const id of registry.removing()) {
				const { left } = await store.jobs.cancelAll({
					endpoint: id,
					limit: CANCEL_LIMIT,
					now: d.now(),
				});
				if (left) return 0;
				if (!(await store.endpoints.forget({ id, now: d.now() }))) continue;
				registry.deleted(id);
				d.events.emit("endpoint.deleted", { endpoint: id });
			}
			return CHECK_MS;
		},
	});
}
