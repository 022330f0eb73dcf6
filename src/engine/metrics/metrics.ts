/** Metrics: counts of jobs and workers now, over time and as a live feed. */
import type { Service } from "../../service.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { WorkerViews } from "../workers/worker-views.ts";
import { demand, type Demand } from "./demand.ts";
import { type EndpointSnapshot, endpointSnapshots } from "./endpoint-snapshots.ts";
import { health } from "./health.ts";
import { liveFeed, type LiveFeed } from "./live-feed.ts";
import { metricHistory, type MetricHistory } from "./metric-history.ts";
import { rollingWindow } from "./rolling-window.ts";

export interface Metrics extends Pick<MetricHistory, "history" | "total" | "totals" | "storeMs"> {
	health(endpoint: string): ReturnType<typeof health>;
	/** How many workers it wants. */
	demand(endpoint: string): Promise<Demand>;
	/** Every endpoint with its counts. */
	snapshots(): Promise<EndpointSnapshot[]>;
	/** Bytes of inputs, results and chunks by endpoint (D43). */
	stored: EngineContext["store"]["jobs"]["stored"];
	/** Sends changes of all endpoints. */
	listen: LiveFeed["listen"];
	/** Removes all listeners. */
	closeFeed(): void;
	services: readonly Service[];
}

interface Deps extends EngineContext {
	/** Random, of each start of this server its own. */
	run: string;
	endpoints: Pick<Endpoints, "all" | "has" | "get" | "paused">;
	cluster: Pick<Cluster, "leads">;
	views: Pick<WorkerViews, "of" | "reason" | "heldBack">;
}

export function createMetrics(d: Deps): Metrics {
	const snapshots = (): Promise<EndpointSnapshot[]> => endpointSnapshots(d);
	const history = metricHistory({ ...d, snapshots });
	const feed = liveFeed({
		...d,
		snapshots,
		window: rollingWindow({ ...d, store: d.store.metrics }),
	});
	return {
		health: (endpoint) => health(d, endpoint),
		demand: (endpoint) => demand(d, endpoint),
		snapshots,
		stored: d.store.jobs.stored,
		history: history.history,
		total: history.total,
		totals: history.totals,
		storeMs: history.storeMs,
		listen: feed.listen,
		closeFeed: feed.close,
		services: [history.service, feed.service],
	};
}
