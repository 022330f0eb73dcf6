/**
 * Canaries of releases (D50): which endpoint has one, which version the next worker runs, and how the jobs compare.
 * What decides is in the store: the release, and the jobs in the metrics. In memory is which canaries are over before a
 * healthy worker proved their release.
 */
import {
	type Canary,
	canaryOf,
	canaryWorkers,
	type CanaryVerdict,
	judgeCanary,
	medianOf,
} from "../../core/releases/canary.ts";
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { ReleaseJobs } from "../../core/metrics/metric-buckets.ts";
import { type LaunchedSettings, withLaunched } from "../../core/releases/launched-settings.ts";
import { newHistogram } from "../../lib/histogram.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { ReleaseHead } from "../../store/contract/releases.ts";
import { type EngineContext, unlessUnavailable } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { launchHash } from "../endpoints/launch-hash.ts";
import { canaryShares } from "./canary-shares.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { Workers } from "../workers/workers.ts";
import { isManaged } from "../../launchers/index.ts";
import { releasesOf } from "./worker-release.ts";

/** Least time between two readings of the metrics, and its part of the time since the canary began. */
const COMPARE_MS = 5000;
const COMPARE_PART = 1 / 200;

const NO_JOBS: ReleaseJobs = { completed: 0, failed: 0, execution: newHistogram() };

/** What this server remembers of the last canary of an endpoint. */
interface CanaryState {
	version: number;
	isOver: boolean;
	/** Settings of the stable version; undefined until they are read. */
	launched?: LaunchedSettings;
	isReading?: true;
	comparedAt: EpochMs;
	verdict?: CanaryVerdict;
	/** Why there is no comparison now, as it was logged. */
	notCompared?: string;
}

interface CanaryJobs extends Pick<ReleaseJobs, "completed" | "failed"> {
	medianMs?: number | undefined;
}

export interface CanaryView {
	version: number;
	stable: number;
	percent: number;
	startedAt: EpochMs;
	minJobs: number;
	/** At the latest. */
	endsAt: EpochMs;
	jobs: CanaryJobs;
	stableJobs: CanaryJobs;
}

export type Canaries = ReturnType<typeof createCanaries>;

interface Deps extends EngineContext {
	endpoints: Endpoints;
	workers: Workers;
	/** Jobs by version; see `MetricHistory`. */
	jobsByRelease: (q: { endpoint: string; from: EpochMs; to: EpochMs }) => Promise<ReadonlyMap<number, ReleaseJobs>>;
}

export function createCanaries(d: Deps) {
	const { endpoints, events, now, background } = d;
	const states = new Map<string, CanaryState>();

	function stateOf(id: string, version: number): CanaryState {
		const known = states.get(id);
		if (known?.version === version) return known;
		const state = { version, isOver: false, comparedAt: -Infinity };
		states.set(id, state);
		return state;
	}

	/** Undefined: there is none, or it is over. */
	function of(endpoint: Endpoint): Canary<ReleaseHead> | undefined {
		if (!endpoint.release.canary || !isManaged(endpoint.launcher.type)) return undefined;
		const { id } = endpoint;
		const canary = canaryOf(releasesOf(endpoints, id), endpoint);
		if (typeof canary === "string") return undefined;
		return canary && stateOf(id, canary.version.version).isOver ? undefined : canary;
	}

	function endWithout(endpoint: string, state: CanaryState, why: string): void {
		state.isOver = true;
		events.emit("release.not_compared", { endpoint, version: state.version, why });
	}

	async function jobsOfBoth({ version, stable }: Canary<ReleaseHead>) {
		const { endpoint, createdAt } = version;
		const byRelease = await d.jobsByRelease({ endpoint, from: createdAt, to: now() + 1 });
		const jobsOf = ({ launchHash: hash }: ReleaseHead): ReleaseJobs =>
			byRelease.get(endpoints.releaseOf(endpoint, hash) ?? 0) ?? NO_JOBS;
		return { jobs: jobsOf(version), stable: jobsOf(stable) };
	}

	/** In the background, once. */
	function readStable(endpoint: Endpoint, stable: ReleaseHead, state: CanaryState): void {
		if (state.launched || state.isReading) return;
		state.isReading = true;
		const reading = stableSettings(d, endpoint, stable)
			.then((found) => {
				if (typeof found === "string") endWithout(endpoint.id, state, found);
				else state.launched = found;
			})
			.finally(() => delete state.isReading);
		background.run(`settings of version ${stable.version} of ${endpoint.id}`, reading);
	}

	async function compare(canary: Canary<ReleaseHead>, state: CanaryState): Promise<void> {
		const ranMs = now() - canary.version.createdAt;
		state.verdict = judgeCanary(canary, { ...(await jobsOfBoth(canary)), ranMs });
		if (state.verdict.result === "over") {
			state.isOver = true;
			events.emit("endpoints.changed", {});
		}
	}

	events.on("endpoint.deleted", ({ endpoint }) => states.delete(endpoint));

	/** After maxMs no share is kept, unless the version is to be undone and cannot be. */
	function limiting(endpoint: Endpoint): Canary<ReleaseHead> | undefined {
		const canary = of(endpoint);
		if (!canary || now() < canary.version.createdAt + canary.maxMs) return canary;
		return stateOf(endpoint.id, canary.version.version).verdict?.result === "undo" ? canary : undefined;
	}

	return {
		of,
		mostFor: canaryShares({ ...d, canaryOf: limiting }),
		/** The settings for the next worker; undefined until those of the stable version are read. `staying`: of all. */
		next(endpoint: Endpoint, staying: readonly Worker[]): Endpoint | undefined {
			const canary = of(endpoint);
			if (!canary) return endpoint;
			const { version, stable, percent } = canary;
			if (staying.filter(isOf(version)).length < canaryWorkers(staying.length + 1, percent)) return endpoint;
			const state = stateOf(endpoint.id, version.version);
			if (state.launched) return withLaunched(endpoint, state.launched);
			readStable(endpoint, stable, state);
			return undefined;
		},
		/** Which of the surplus workers may be stopped, so that `wanted` of both versions stay. */
		stoppable(endpoint: Endpoint, staying: readonly Worker[], q: { surplus: Worker[]; wanted: number }): Worker[] {
			const canary = of(endpoint);
			if (!canary) return q.surplus;
			const most = canaryWorkers(q.wanted, canary.percent);
			const left = withoutKept(q.surplus, staying.filter(isOf(canary.version)), most);
			return withoutKept(left, staying.filter(isOf(canary.stable)), q.wanted - most);
		},
		/** What its jobs say, read again every 5 s or later; undefined without a canary, and before the first answer. */
		verdict(endpoint: Endpoint): CanaryVerdict | undefined {
			const releases = releasesOf(endpoints, endpoint.id);
			const canary = canaryOf(releases, endpoint);
			if (!canary) return undefined;
			const state = stateOf(endpoint.id, releases.at(-1)!.version);
			if (state.isOver) return state.verdict;
			if (typeof canary === "string") {
				if (state.notCompared !== canary)
					events.emit("release.not_compared", { endpoint: endpoint.id, version: state.version, why: canary });
				state.notCompared = canary;
				return undefined;
			}
			readStable(endpoint, canary.stable, state);
			const compareMs = Math.max(COMPARE_MS, (now() - canary.version.createdAt) * COMPARE_PART);
			if (state.verdict?.result !== "undo" && now() - state.comparedAt >= compareMs) {
				state.comparedAt = now();
				const where = `comparing version ${state.version} of ${endpoint.id}`;
				background.run(where, compare(canary, state).catch(unlessUnavailable(d, where)));
			}
			return state.verdict;
		},
		async view(id: string): Promise<CanaryView | undefined> {
			const canary = of(endpoints.get(id));
			return canary && viewOf(canary, await jobsOfBoth(canary));
		},
	};
}

function isOf({ launchHash: hash }: ReleaseHead): (worker: Worker) => boolean {
	return ({ launchedAs }) => launchedAs === hash;
}

/** Text: why no worker can be launched with them. */
async function stableSettings(
	{ endpoints }: Pick<Deps, "endpoints">,
	{ id, launcher }: Endpoint,
	{ version, launchHash: hash }: ReleaseHead,
): Promise<LaunchedSettings | string> {
	const opened = await endpoints.versions.settingsOf(endpoints.entry(id), version);
	const launched = opened?.settings as unknown as LaunchedSettings | undefined;
	if (!launched || launchHash(launched) !== hash) return `the settings of version ${version} cannot be read`;
	return launched.launcher.type === launcher.type ? launched : `version ${version} has another launcher`;
}

/** The `surplus` without those of `staying` that are kept, so that `count` of them stay. */
function withoutKept(surplus: readonly Worker[], staying: readonly Worker[], count: number): Worker[] {
	const over = Math.max(0, staying.length - count);
	const going = surplus.filter((worker) => staying.includes(worker)).slice(0, over);
	return surplus.filter((worker) => !staying.includes(worker) || going.includes(worker));
}

function viewOf(
	{ version, stable, percent, minJobs, maxMs }: Canary<ReleaseHead>,
	found: { jobs: ReleaseJobs; stable: ReleaseJobs },
): CanaryView {
	return {
		...{ version: version.version, stable: stable.version, percent, minJobs },
		...{ startedAt: version.createdAt, endsAt: version.createdAt + maxMs },
		...{ jobs: jobsViewOf(found.jobs), stableJobs: jobsViewOf(found.stable) },
	};
}

function jobsViewOf(jobs: ReleaseJobs): CanaryJobs {
	const medianMs = medianOf(jobs);
	return { completed: jobs.completed, failed: jobs.failed, ...(medianMs !== undefined && { medianMs }) };
}
