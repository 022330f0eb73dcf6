/**
 * Canaries of releases (D50): which endpoint has one, which worker takes the next job, which version the next worker
 * runs, and how the jobs compare. What decides is in the store: the release, and the jobs in the metrics. In memory are
 * the shares of jobs since this server knows of the canary, and which canaries are over before a healthy worker proved
 * their release.
 */
import {
	type Canary,
	canaryOf,
	canaryWorkers,
	type CanaryVerdict,
	judgeCanary,
	mayTake,
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
import type { Worker } from "../workers/worker-registry.ts";
import type { Workers } from "../workers/workers.ts";
import { isManaged } from "../../launchers/index.ts";
import { releasesOf } from "./worker-release.ts";

/** Least time between two readings of the metrics, and its part of the time since the canary began. */
const LOOK_MS = 5000;
const LOOK_PART = 1 / 200;

/** Workers of the stable version are at other servers if one of their jobs ended there not longer ago. */
const ELSEWHERE_MS = 10_000;

const NO_JOBS: ReleaseJobs = { completed: 0, failed: 0, execution: newHistogram() };

/** What this server remembers of the last canary of an endpoint. */
interface Memory {
	version: number;
	isOver: boolean;
	/** Handed out here, and ended elsewhere. */
	shares: { canary: number; all: number };
	/** Settings of the stable version; undefined until they are read. */
	launched?: LaunchedSettings;
	isReading?: true;
	lookedAt: EpochMs;
	verdict?: CanaryVerdict;
	/** Why there is no comparison now, as it was logged. */
	without?: string;
	/** When a job of the stable version last ended at another server. */
	stableElsewhereAt: EpochMs;
}

interface ShownJobs extends Pick<ReleaseJobs, "completed" | "failed"> {
	medianMs?: number | undefined;
}

/** What operators see of it. */
export interface ShownCanary {
	version: number;
	stable: number;
	percent: number;
	startedAt: EpochMs;
	minJobs: number;
	/** At the latest. */
	endsAt: EpochMs;
	jobs: ShownJobs;
	stableJobs: ShownJobs;
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
	const { registry, launcher } = d.workers;
	const memories = new Map<string, Memory>();

	function memoryOf(id: string, version: number): Memory {
		const known = memories.get(id);
		if (known?.version === version) return known;
		const memory = {
			version,
			isOver: false,
			shares: { canary: 0, all: 0 },
			lookedAt: -Infinity,
			stableElsewhereAt: -Infinity,
		};
		memories.set(id, memory);
		return memory;
	}

	/** Undefined: there is none, or it is over. */
	function of(endpoint: Endpoint): Canary<ReleaseHead> | undefined {
		if (!endpoint.release.canary || !isManaged(endpoint.launcher.type)) return undefined;
		const { id } = endpoint;
		const canary = canaryOf(releasesOf(endpoints, id), endpoint);
		if (typeof canary === "string") return undefined;
		return canary && memoryOf(id, canary.version.version).isOver ? undefined : canary;
	}

	function leaveOut(endpoint: string, memory: Memory, why: string): void {
		memory.isOver = true;
		events.emit("release.not_compared", { endpoint, version: memory.version, why });
	}

	const isOf =
		({ launchHash: hash }: ReleaseHead) =>
		(worker: Worker): boolean =>
			worker.launchedAs === hash;

	function count(endpoint: string, release: number | undefined): void {
		const memory = memories.get(endpoint);
		if (!memory || release === undefined) return;
		memory.shares.all += 1;
		memory.shares.canary += Number(release === memory.version);
	}

	async function compared({ version, stable }: Canary<ReleaseHead>) {
		const { endpoint, createdAt } = version;
		const byRelease = await d.jobsByRelease({ endpoint, from: createdAt, to: now() + 1 });
		const jobsOf = ({ launchHash: hash }: ReleaseHead): ReleaseJobs =>
			byRelease.get(endpoints.releaseOf(endpoint, hash) ?? 0) ?? NO_JOBS;
		return { jobs: jobsOf(version), stable: jobsOf(stable) };
	}

	async function read(endpoint: Endpoint, stable: ReleaseHead, memory: Memory): Promise<void> {
		const { versions } = endpoints;
		const row = (await versions.rows(endpoints.entry(endpoint.id))).find(({ version }) => version === stable.version);
		const { settings, unreadable } = row ? versions.open(row) : { settings: {}, unreadable: ["all"] };
		const launched = settings as unknown as LaunchedSettings;
		if (unreadable.length > 0 || launchHash(launched) !== stable.launchHash)
			leaveOut(endpoint.id, memory, `the settings of version ${stable.version} cannot be read`);
		else if (launched.launcher.type !== endpoint.launcher.type)
			leaveOut(endpoint.id, memory, `version ${stable.version} has another launcher`);
		else memory.launched = launched;
	}

	/** In the background, once. */
	function readStable(endpoint: Endpoint, stable: ReleaseHead, memory: Memory): void {
		if (memory.launched || memory.isReading) return;
		memory.isReading = true;
		const reading = read(endpoint, stable, memory).finally(() => delete memory.isReading);
		background.run(`settings of version ${stable.version} of ${endpoint.id}`, reading);
	}

	async function look(canary: Canary<ReleaseHead>, memory: Memory): Promise<void> {
		const ranMs = now() - canary.version.createdAt;
		memory.verdict = judgeCanary(canary, { ...(await compared(canary)), ranMs });
		if (memory.verdict.result === "over") {
			memory.isOver = true;
			events.emit("endpoints.changed", {});
		}
	}

	events.on("job.started", ({ endpoint, release }) => count(endpoint, release));
	events.on("job.settled", ({ endpoint, release, elsewhere }) => {
		if (!elsewhere) return;
		count(endpoint, release);
		const memory = memories.get(endpoint);
		if (memory && release !== undefined && release !== memory.version) memory.stableElsewhereAt = now();
	});
	events.on("endpoint.deleted", ({ endpoint }) => memories.delete(endpoint));

	return {
		of,
		/** How many jobs the worker may take now: those of a canary one by one, within their share. */
		mostFor(worker: Worker): number {
			const { endpoint: id } = worker;
			const endpoint = endpoints.has(id) ? endpoints.get(id) : undefined;
			const canary = endpoint && of(endpoint);
			if (!canary || !isOf(canary.version)(worker)) return Infinity;
			const memory = memoryOf(id, canary.version.version);
			// A version that cannot be undone keeps its share.
			const isOver = now() >= canary.version.createdAt + canary.maxMs && memory.verdict?.result !== "undo";
			if (isOver) return Infinity;
			const isThere = (each: Worker): boolean =>
				isOf(canary.stable)(each) &&
				each.ready &&
				!each.unhealthy &&
				!each.sleep &&
				!launcher.isLeaving(each) &&
				(each.managed || each.takes > 0 || each.held.size > 0);
			// No job waits for the share.
			const isElsewhere = now() - memory.stableElsewhereAt < ELSEWHERE_MS;
			if (!isElsewhere && !Iterator.from(registry.of(id)).some(isThere)) return Infinity;
			const { shares } = memory;
			if (!mayTake(shares, canary.percent)) return 0;
			const claims = [...registry.of(id)].filter(isOf(canary.version)).flatMap((each) => [...each.claims]);
			const claiming = claims.filter(({ answeredAt }) => answeredAt === undefined).length;
			return mayTake({ canary: shares.canary + claiming, all: shares.all + claiming }, canary.percent) ? 1 : 0;
		},
		/** The settings for the next worker; undefined until those of the stable version are read. `staying`: of all. */
		next(endpoint: Endpoint, staying: readonly Worker[]): Endpoint | undefined {
			const canary = of(endpoint);
			if (!canary) return endpoint;
			const { version, stable, percent } = canary;
			if (staying.filter(isOf(version)).length < canaryWorkers(staying.length + 1, percent)) return endpoint;
			const memory = memoryOf(endpoint.id, version.version);
			if (memory.launched) return withLaunched(endpoint, memory.launched);
			readStable(endpoint, stable, memory);
			return undefined;
		},
		/** Which of the surplus workers may be stopped, so that `wanted` of both versions stay. */
		stoppable(endpoint: Endpoint, staying: readonly Worker[], q: { surplus: Worker[]; wanted: number }): Worker[] {
			const canary = of(endpoint);
			if (!canary) return q.surplus;
			const most = canaryWorkers(q.wanted, canary.percent);
			const kept = [
				{ isOne: isOf(canary.version), most },
				{ isOne: isOf(canary.stable), most: q.wanted - most },
			];
			return kept.reduce((left, { isOne, most: stay }) => {
				const over = Math.max(0, staying.filter(isOne).length - stay);
				const going = new Set(left.filter(isOne).slice(0, over));
				return left.filter((worker) => !isOne(worker) || going.has(worker));
			}, q.surplus);
		},
		/** What its jobs say, read again every 5 s or later; undefined without a canary, and before the first answer. */
		verdict(endpoint: Endpoint): CanaryVerdict | undefined {
			const releases = releasesOf(endpoints, endpoint.id);
			const canary = canaryOf(releases, endpoint);
			if (!canary) return undefined;
			const memory = memoryOf(endpoint.id, releases.at(-1)!.version);
			if (memory.isOver) return memory.verdict;
			if (typeof canary === "string") {
				if (memory.without !== canary)
					events.emit("release.not_compared", { endpoint: endpoint.id, version: memory.version, why: canary });
				memory.without = canary;
				return undefined;
			}
			readStable(endpoint, canary.stable, memory);
			const lookMs = Math.max(LOOK_MS, (now() - canary.version.createdAt) * LOOK_PART);
			if (memory.verdict?.result !== "undo" && now() - memory.lookedAt >= lookMs) {
				memory.lookedAt = now();
				const where = `comparing version ${memory.version} of ${endpoint.id}`;
				background.run(where, look(canary, memory).catch(unlessUnavailable(d, where)));
			}
			return memory.verdict;
		},
		async shown(id: string): Promise<ShownCanary | undefined> {
			const canary = of(endpoints.get(id));
			if (!canary) return undefined;
			const { version, stable, percent, minJobs, maxMs } = canary;
			const found = await compared(canary);
			const jobsOf = (jobs: ReleaseJobs): ShownJobs => ({
				...{ completed: jobs.completed, failed: jobs.failed },
				...(medianOf(jobs) !== undefined && { medianMs: medianOf(jobs) }),
			});
			return {
				...{ version: version.version, stable: stable.version, percent, minJobs },
				...{ startedAt: version.createdAt, endsAt: version.createdAt + maxMs },
				...{ jobs: jobsOf(found.jobs), stableJobs: jobsOf(found.stable) },
			};
		},
	};
}
