/** Opens metrics: counts rare events from then on, and serves history, live feed and `/metrics` (D39, D40). */
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { demand } from "./demand.ts";
import { eventCounts } from "./event-counts.ts";
import { eventLoopDelay } from "./event-loop.ts";
import { sendFeed } from "./feed-api.ts";
import { history, totals } from "./history-api.ts";
import { liveFeed } from "./live-feed.ts";
import { rollingWindow } from "./rolling-window.ts";
import type { METRICS_ROUTES } from "./routes.ts";

export async function openMetrics(kernel: Kernel): Promise<OpenModule> {
	const { clock, events, metrics } = kernel;
	const feed = liveFeed({ ...kernel, snapshots: metrics.snapshots, window: rollingWindow(kernel) });
	const measured = { counts: eventCounts(kernel), eventLoopDelay: eventLoopDelay(clock) };
	events.on("service.draining", feed.close);
	const handlers: HandlersOf<typeof METRICS_ROUTES> = {
		endpointMetrics: history,
		allMetrics: totals,
		endpointDemand: ({ params }) => demand(kernel, params.endpoint),
		feed: (call) => sendFeed(call, feed),
		// Most of the module: a service whose `/metrics` no collector reads does not load it.
		metrics: async (call) => (await import("./prometheus-api.ts")).prometheus(call, { ...kernel, measured }),
	};
	return { handlers, services: [feed.service] };
}
