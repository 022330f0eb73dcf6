/** Releases and their workers (D50). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { ReleaseHead } from "../../store/contract/endpoints.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Workers } from "../workers/workers.ts";
import type { Worker } from "../workers/worker-registry.ts";

export interface ReleaseDeps extends EngineContext {
	endpoints: Endpoints;
	workers: Workers;
	/** Whether no job of the endpoint waits. */
	noneWaits: (endpoint: string) => boolean;
}

/** Earlier ones first, at least one; the last one is current. */
export function releasesOf(endpoints: Endpoints, id: string): readonly ReleaseHead[] {
	return endpoints.versions.of(endpoints.entry(id));
}

/** `hash`: of the current release. */
export function isOld({ launchedAs }: Worker, hash: string): boolean {
	return launchedAs !== undefined && launchedAs !== hash;
}

export function isHealthy(
	{ workers, noneWaits }: Pick<ReleaseDeps, "workers" | "noneWaits">,
	{ id }: Endpoint,
	worker: Worker,
): boolean {
	if (!worker.ready || worker.unhealthy || worker.sleep || workers.launcher.isLeaving(worker)) return false;
	const hasCalled = worker.takes > 0 || worker.seenAt > (worker.readyAt ?? 0);
	// One that was taken over counts as ready before that.
	if (worker.hasSettled && !worker.hasReported && !hasCalled) return false;
	return worker.hasReported === true || (worker.held.size === 0 && noneWaits(id));
}
