/** Canary of a release: its share of the jobs, and how they compare with those of the stable version (D50). */
import { percentiles, sizeOfHistogram } from "../../kernel/lib/histogram.ts";
import type { CanarySettings, ReleaseSettings } from "../../kernel/core/endpoints/endpoint.ts";
import type { ReleaseJobs } from "../../kernel/core/metrics/metric-buckets.ts";
import { type Release, rollbackTarget } from "../../kernel/core/releases/history.ts";

export interface Canary<R> extends CanarySettings {
	version: R;
	/** The healthy one that it is compared with. */
	stable: R;
}

/** A canary needs a worker of each version, and a healthy version to be compared with. */
export function canaryOf<R extends Release & { source: string }>(
	releases: readonly R[],
	{ release: { canary }, workersMax }: { release: Pick<ReleaseSettings, "canary">; workersMax: number },
): Canary<R> | undefined {
	const version = releases.at(-1);
	if (!canary || workersMax < 2 || version?.state !== "unproven" || version.source === "rollback") return undefined;
	const stable = rollbackTarget(releases);
	return stable && { ...canary, version, stable };
}

/** Whether the canary may take the next job. `all`: jobs since it began, its own included. */
export function mayTake({ canary, all }: { canary: number; all: number }, percent: number): boolean {
	return canary * 100 < percent * (all + 1);
}

/** Fewer jobs, failures or runs say nothing. */
const LEAST = { jobs: 10, failed: 4, runs: 20 } as const;

export interface CanaryVerdict {
	/** `over`: nothing speaks against the version. */
	result: "runs" | "over" | "undo";
	/** What was compared: part of a sentence. */
	text: string;
}

/**
 * A version is undone at the end of its canary if the part of its jobs that failed is over twice that of the stable
 * version and 2 % more, or if the 95th percentile of its runs is over `maxSlowdown` times as long; before the end only
 * if three of four jobs fail. `ranMs`: since the canary began.
 */
export function judgeCanary(
	{ minJobs, maxMs, maxSlowdown }: CanarySettings,
	{ jobs, stable, ranMs }: { jobs: ReleaseJobs; stable: ReleaseJobs; ranMs: number },
): CanaryVerdict {
	const isComparable = Math.min(endedOf(jobs), endedOf(stable)) >= LEAST.jobs;
	// What fails before the stable version has had jobs must not pass for want of a comparison.
	const isLast = (endedOf(jobs) >= minJobs && isComparable) || ranMs >= maxMs;
	const failsMore = jobs.failed >= LEAST.failed && failedPart(jobs) > 2 * failedPart(stable) + 0.02;
	const hasRuns = Math.min(sizeOfHistogram(jobs.execution), sizeOfHistogram(stable.execution)) >= LEAST.runs;
	const isSlow = maxSlowdown > 0 && hasRuns && p95Of(jobs)! > maxSlowdown * p95Of(stable)!;
	const isWorse = (isComparable && failsMore && (isLast || failedPart(jobs) >= 0.75)) || (isLast && isSlow);
	const text = `${jobsText(jobs)}, against ${jobsText(stable)}`;
	return { result: isWorse ? "undo" : isLast ? "over" : "runs", text };
}

const endedOf = ({ completed, failed }: ReleaseJobs): number => completed + failed;
const failedPart = (jobs: ReleaseJobs): number => jobs.failed / Math.max(1, endedOf(jobs));
/** Ms; undefined without a run. */
const p95Of = ({ execution }: ReleaseJobs): number | undefined => percentiles(execution, [0.95])?.[0];

/** Such as "3 of 60 jobs failed (5 %), p95 120 ms". */
function jobsText(jobs: ReleaseJobs): string {
	const [ended, p95] = [endedOf(jobs), p95Of(jobs)];
	const percent = ended === 0 ? "" : ` (${Math.round(failedPart(jobs) * 1000) / 10} %)`;
	return `${jobs.failed} of ${ended} jobs failed${percent}${p95 === undefined ? "" : `, p95 ${p95} ms`}`;
}
