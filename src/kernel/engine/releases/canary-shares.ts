/**
 * Shares of the jobs that workers of a canary take (D50), counted by each server since it knows of the canary: jobs
 * that it handed out, and jobs that ended at other servers.
 */
import { type Canary, mayTake } from "../../core/releases/canary.ts";
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { ReleaseHead } from "../../store/contract/releases.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { Workers } from "../workers/workers.ts";

/** Workers of the stable version are at other servers if one of their jobs ended there not longer ago. */
const ELSEWHERE_MS = 10_000;

interface Shares {
	version: number;
	canary: number;
	all: number;
	/** When a job of the stable version last ended at another server. */
	stableElsewhereAt: EpochMs;
}

interface Deps extends Pick<EngineContext, "events" | "now"> {
	endpoints: Endpoints;
	workers: Workers;
	/** The canary of an endpoint while it limits what its workers take. */
	canaryOf: (endpoint: Endpoint) => Canary<ReleaseHead> | undefined;
}

export function canaryShares({ events, now, endpoints, workers: { registry, launcher }, canaryOf }: Deps) {
	const byEndpoint = new Map<string, Shares>();

	function sharesOf(id: string, version: number): Shares {
		const known = byEndpoint.get(id);
		if (known?.version === version) return known;
		const shares = { version, canary: 0, all: 0, stableElsewhereAt: -Infinity };
		byEndpoint.set(id, shares);
		return shares;
	}

	function count(endpoint: string, release: number | undefined, elsewhere?: boolean): void {
		const shares = byEndpoint.get(endpoint);
		if (!shares || release === undefined) return;
		shares.all += 1;
		if (release === shares.version) shares.canary += 1;
		else if (elsewhere) shares.stableElsewhereAt = now();
	}

	events.on("job.started", ({ endpoint, release }) => count(endpoint, release));
	events.on("job.settled", ({ endpoint, release, elsewhere }) => {
		if (elsewhere) count(endpoint, release, elsewhere);
	});
	events.on("endpoint.deleted", ({ endpoint }) => byEndpoint.delete(endpoint));

	/** Whether the worker takes jobs, as far as this server knows. */
	function isAvailable(worker: Worker): boolean {
		if (!worker.ready || worker.unhealthy || worker.sleep || launcher.isLeaving(worker)) return false;
		return worker.managed || worker.takes > 0 || worker.held.size > 0;
	}

	/** How many jobs the worker may take now: those of a canary one by one, within their share. */
	return function mostFor(worker: Worker): number {
		const { endpoint: id } = worker;
		const canary = endpoints.has(id) ? canaryOf(endpoints.get(id)) : undefined;
		if (!canary || worker.launchedAs !== canary.version.launchHash) return Infinity;
		const { percent, stable, version } = canary;
		const shares = sharesOf(id, version.version);
		const all = [...registry.of(id)];
		// No job waits for the share.
		const hasStable =
			now() - shares.stableElsewhereAt < ELSEWHERE_MS ||
			all.some((each) => each.launchedAs === stable.launchHash && isAvailable(each));
		if (!hasStable) return Infinity;
		const claims = all
			.filter(({ launchedAs }) => launchedAs === version.launchHash)
			.flatMap((each) => [...each.claims]);
		const claiming = claims.filter(({ answeredAt }) => answeredAt === undefined).length;
		return mayTake({ canary: shares.canary + claiming, all: shares.all + claiming }, percent) ? 1 : 0;
	};
}
