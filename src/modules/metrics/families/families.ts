import type { Family } from "./family.ts";
import { familyOf, type Metric } from "./definition.ts";
import { JOB_METRICS } from "./jobs.ts";
import { scrapeOf, type ScrapeSource } from "./scrape.ts";
import { CLUSTER_METRICS, HTTP_METRICS, PROCESS_METRICS, STORE_METRICS } from "./server.ts";
import { GPU_METRICS, WORKER_METRICS } from "./workers.ts";

/** Families by the heading of their part of the reference page. */
export const AREAS: Readonly<Record<string, readonly Metric[]>> = {
	Jobs: JOB_METRICS,
	Workers: WORKER_METRICS,
	GPUs: GPU_METRICS,
	Requests: HTTP_METRICS,
	"The store": STORE_METRICS,
	Servers: CLUSTER_METRICS,
	"The process": PROCESS_METRICS,
};

/** Reads all families; of endpoints only those that the reader sees. */
export async function familiesOf(source: ScrapeSource, sees: (endpoint: string) => boolean): Promise<Family[]> {
	const scrape = await scrapeOf(source, sees);
	return Object.values(AREAS).flatMap((metrics) => metrics.map((metric) => familyOf(metric, scrape)));
}
