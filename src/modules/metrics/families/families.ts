import type { Family } from "../../../kernel/core/metrics/family.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { Metric } from "./definition.ts";
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

/**
 * Reads all families, then those of open modules unless these are late; of endpoints only those that the reader sees.
 */
export async function familiesOf(
	source: ScrapeSource & Pick<Kernel, "families">,
	sees: (endpoint: string) => boolean,
): Promise<Family[]> {
	const ofModules = Promise.race([source.families(), source.late.then((): Family[] => [])]);
	const [scrape, others] = await Promise.all([scrapeOf(source, sees), ofModules]);
	const own = Object.values(AREAS).flatMap((metrics) =>
		metrics.map(({ read, ...description }) => ({ ...description, samples: read(scrape) })),
	);
	return [...own, ...others].map((family) => shownOf(family, scrape.sees));
}

function shownOf(family: Family, sees: (endpoint: string) => boolean): Family {
	if (family.labels[0] !== "endpoint") return family;
	return { ...family, samples: family.samples.filter(([[endpoint = ""]]) => sees(endpoint)) };
}
