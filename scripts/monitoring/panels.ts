/**
 * Panels of the Grafana dashboards in `deploy/grafana/` (`npm run reference`). Gauges about endpoints are those of all
 * servers, so the maximum over servers is taken; counters and histograms are of one server, so they are added up.
 */
import { ENDPOINT } from "./endpoint-panels.ts";
import { OVERVIEW } from "./overview-panels.ts";
import type { Panel } from "./panel.ts";
import { SERVER } from "./server-panels.ts";

export interface Dashboard {
	id: "overview" | "endpoint" | "server";
	title: string;
	description: string;
	/** A label of which the reader selects values, `$endpoint` or `$instance` in queries. */
	variable?: "endpoint" | "instance";
	panels: readonly Panel[];
}

export const DASHBOARDS: readonly Dashboard[] = [
	{
		id: "overview",
		title: "overview",
		description: "All endpoints and servers: what waits, what fails, what is missing.",
		panels: OVERVIEW,
	},
	{
		id: "endpoint",
		title: "endpoint",
		description: "Jobs, workers, versions, GPUs and webhooks of one endpoint or several.",
		variable: "endpoint",
		panels: ENDPOINT,
	},
	{
		id: "server",
		title: "server and store",
		description: "Store, budgets, connections and process of one server or several.",
		variable: "instance",
		panels: SERVER,
	},
];
