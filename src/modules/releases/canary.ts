/** The rules of a canary: its share of the jobs, and the comparison with those of the stable version (D50). */
import { percentiles, sizeOfHistogram } from "../../kernel/lib/histogram.ts";
import type { CanarySettings, ReleaseSettings } from "../../kernel/core/endpoints/endpoint.ts";
import type { ReleaseJobs } from "../../kernel/core/metrics/metric-buckets.ts";
import { type Release, rollbackTarget } from "../../kernel/core/releases/history.ts";

export interface Canary<R> extends CanarySettings {
	version: R;
	/** The healthy version that the canary is compared with. */
	stable: R;
}

/** Returns the canary of a version, which needs a worker of each version and a healthy one to be compared with. */
export function canaryOf<R extends Release & { source: string }>(
	releases: readonly R[],
	{ release: { canary }, workersMax }: { release: Pick<ReleaseSettings, "canary">; workersMax: number },
): Canary<R> | undefined {
	const version = releases.at(-1);
	if (!canary || workersMax < 2 || version?.state !== "unproven" || version.source === "rollback") return undefined;
	const stable = rollbackTarget(releases);
	return stable && { ...canary, version, stable };
}

/**
 * Maximum jobs of its share that a canary could not take and gets later; without a limit a slow start would cause a
 * burst.
 */
const MADE_UP = 3;

/**
 * Returns by how many hundredths of a job the canary is behind its share after a job has started; below 0: ahead of it.
 */
export function behindAfter(behind: number, { percent, isCanary }: { percent: number; isCanary: boolean }): number {
	const next = behind + percent - (isCanary ? 100 : 0);
	return Math.max(-100, Math.min(MADE_UP * 100, next));
}

/** Whether the canary may take the next job. */
export function mayTake(behind: number, percent: number): boolean {
	return behind + percent > 0;
}

/** Minimum jobs, failures and runs for a comparison. */
const LEAST = { jobs: 10, failed: 4, runs: 20 } as const;

export interface CanaryVerdict {
	/** `over`: the comparison has ended without a reason to undo the version. */
	result: "runs" | "over" | "undo";
	/** The compared figures, as part of a sentence. */
	text: string;
}

/**
 * A version is undone as soon as three quarters of its jobs or more fail, unless the part that fails is less than 1.5
 * times that of the stable version. It is undone at the end of its canary if that part is over twice as large and 2 %
 * more, or if the 95th percentile of its runs is over `maxSlowdown` times as long. The end comes only when enough jobs
 * of both versions have ended: no version passes for want of a comparison. `ranMs`: since the canary began.
 */
export function judgeCanary(
	{ minJobs, maxMs, maxSlowdown }: CanarySettings,
	{ jobs, stable, ranMs }: { jobs: ReleaseJobs; stable: ReleaseJobs; ranMs: number },
): CanaryVerdict {
	const few = [jobs, stable].find((each) => endedOf(each) < LEAST.jobs);
	const isLast = !few && (endedOf(jobs) >= minJobs || ranMs >= maxMs);
	const failsMostly = endedOf(jobs) >= LEAST.jobs && failedPart(jobs) >= 0.75;
	const asStable = endedOf(stable) >= LEAST.jobs && failedPart(jobs) < 1.5 * failedPart(stable);
	const failsMore = jobs.failed >= LEAST.failed && failedPart(jobs) > 2 * failedPart(stable) + 0.02;
	const hasRuns = Math.min(sizeOfHistogram(jobs.execution), sizeOfHistogram(stable.execution)) >= LEAST.runs;
	const isSlow = maxSlowdown > 0 && hasRuns && p95Of(jobs)! > maxSlowdown * p95Of(stable)!;
	const isWorse = (failsMostly && !asStable) || (isLast && (failsMore || isSlow));
	if (few && !isWorse) {
		const whose = few === jobs ? "this version" : "the last healthy one";
		return { result: "runs", text: `not compared yet: ${endedOf(few)} of ${LEAST.jobs} jobs of ${whose} have ended` };
	}
	const text = `${jobsText(jobs)}, against ${jobsText(stable)}`;
	return { result: isWorse ? "undo" : isLast ? "over" : "runs", text };
}

const endedOf = ({ completed, failed }: ReleaseJobs): number => completed + failed;
const failedPart = (jobs: ReleaseJobs): number => jobs.failed / Math.max(1, endedOf(jobs));
/** Returns the 95th percentile of runs, ms; undefined without a run. */
const p95Of = ({ execution }: ReleaseJobs): number | undefined => percentiles(execution, [0.95])?.[0];

/** Returns a text such as "3 of 60 jobs failed (5 %), p95 120 ms". */
function jobsText(jobs: ReleaseJobs): string {
	const [ended, p95] = [endedOf(jobs), p95Of(jobs)];
	const percent = ended === 0 ? "" : ` (${Math.round(failedPart(jobs) * 1000) / 10} %)`;
	return `${jobs.failed} of ${ended} jobs failed${percent}${p95 === undefined ? "" : `, p95 ${p95} ms`}`;
}
