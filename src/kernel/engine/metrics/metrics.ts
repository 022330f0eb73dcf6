import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { WorkerRegistry } from "../workers/worker-registry.ts";
import type { WorkerViews } from "../workers/worker-views.ts";
import { endpointSnapshots, health } from "./health.ts";
import { MetricHistory } from "./metric-history.ts";
import { workerStarts } from "./worker-starts.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** `run`: random at each start. */
export function createMetrics(
	d: EngineContext & {
		run: string;
		endpoints: Endpoints;
		cluster: Cluster;
		views: WorkerViews;
		registry: WorkerRegistry;
	},
) {
	const snapshots = () => endpointSnapshots(d);
	const history = new MetricHistory({ ...d, snapshots });
	return {
		health: (endpoint: string) => health(d, endpoint),
		snapshots,
		/** Returns for how long the oldest job of each endpoint waits that is not of low priority, ms. */
		async oldestWaits(): Promise<ReadonlyMap<string, number>> {
			const now = d.now();
			const all = await d.store.jobs.oldestWaiting({ now });
			return new Map(all.map(({ endpoint, queuedAt }) => [endpoint, Math.max(0, now - queuedAt)]));
		},
		starts: workerStarts(d),
		/** Bytes by endpoint (D43). */
		stored: d.store.jobs.stored,
		history,
		services: [history.service],
	};
}
