/** Canary of a release: its share of workers and jobs, and how its jobs compare with those of the stable one (D50). */
import { percentiles, sizeOfHistogram } from "../../lib/histogram.ts";
import type { CanarySettings, ReleaseSettings } from "../endpoints/endpoint.ts";
import type { ReleaseJobs } from "../metrics/metric-buckets.ts";
import { type Release, rollbackTarget } from "./history.ts";

export interface Canary<R> extends CanarySettings {
	version: R;
	/** The healthy one that it is compared with. */
	stable: R;
}

interface Dated extends Release {
	source: string;
}

/** Text: why the release has none although its endpoint asks for one. */
export function canaryOf<R extends Dated>(
	releases: readonly R[],
	{ release: { canary }, workersMax }: { release: Pick<ReleaseSettings, "canary">; workersMax: number },
): Canary<R> | string | undefined {
	const version = releases.at(-1);
	if (!canary || version?.state !== "unproven" || version.source === "rollback" || releases.length === 1)
		return undefined;
	if (workersMax < 2) return "workersMax is below 2";
	const stable = rollbackTarget(releases);
	return stable ? { ...canary, version, stable } : "no healthy version is there to compare it with";
}

/** Workers of the canary among `total`; at least one of each version if there are two. */
export function canaryWorkers(total: number, percent: number): number {
	return total < 2 ? 0 : Math.max(1, Math.floor((percent * total) / 100));
}

/** Whether the canary may take the next job. `all`: jobs since it began, its own included. */
export function mayTake({ canary, all }: { canary: number; all: number }, percent: number): boolean {
	return canary * 100 < percent * (all + 1);
}

/** Fewer jobs say nothing. */
const LEAST_JOBS = 10;

/** Probabilities of such a difference by chance: at each check, and at the last one. */
const BY_CHANCE = { any: 0.001, last: 0.02 } as const;

export interface CanaryVerdict {
	/** `over`: nothing speaks against the version. */
	result: "runs" | "over" | "undo";
	/** What was compared: part of a sentence. */
	text: string;
}

/** `ranMs`: since the canary began. */
export function judgeCanary(
	{ minJobs, maxMs, maxSlowdown }: CanarySettings,
	q: { jobs: ReleaseJobs; stable: ReleaseJobs; ranMs: number },
): CanaryVerdict {
	const { jobs, stable } = q;
	const [ended, medians] = [endedOf(jobs), [medianOf(jobs), medianOf(stable)] as const];
	// What failed at once, before the stable version had jobs, must not pass for want of a comparison.
	const isLast = (ended >= minJobs && endedOf(stable) >= LEAST_JOBS) || q.ranMs >= maxMs;
	const text = `${jobsText(jobs)}, against ${jobsText(stable)}`;
	const chance = ended < LEAST_JOBS ? 1 : chanceOfFailures(jobs, stable);
	const isSlow =
		maxSlowdown > 0 &&
		medians.every((ms) => ms !== undefined) &&
		Math.min(sizeOfHistogram(jobs.execution), sizeOfHistogram(stable.execution)) >= LEAST_JOBS &&
		medians[0]! > maxSlowdown * medians[1]!;
	if (chance < (isLast ? BY_CHANCE.last : BY_CHANCE.any) || (isLast && isSlow)) return { result: "undo", text };
	return { result: isLast ? "over" : "runs", text };
}

export const endedOf = ({ completed, failed }: ReleaseJobs): number => completed + failed;

/** Ms; undefined without a run. */
export const medianOf = ({ execution }: ReleaseJobs): number | undefined => percentiles(execution, [0.5])?.[0];

/** Such as "3 of 60 jobs failed (5 %), median run 120 ms". */
function jobsText(jobs: ReleaseJobs): string {
	const [ended, median] = [endedOf(jobs), medianOf(jobs)];
	const percent = ended === 0 ? "" : ` (${Math.round((jobs.failed / ended) * 1000) / 10} %)`;
	return `${jobs.failed} of ${ended} jobs failed${percent}${median === undefined ? "" : `, median run ${median} ms`}`;
}

/**
 * Probability that at least so many of the failures are among `jobs` if both versions fail equally often (one-sided
 * exact test of Fisher): right for few failures too, where a normal approximation would undo a version for one.
 */
function chanceOfFailures(jobs: ReleaseJobs, other: ReleaseJobs): number {
	const [size, all] = [endedOf(jobs), endedOf(jobs) + endedOf(other)];
	const failed = jobs.failed + other.failed;
	if (jobs.failed * all <= failed * size) return 1;
	let term = Math.exp(
		logChoose(failed, jobs.failed) + logChoose(all - failed, size - jobs.failed) - logChoose(all, size),
	);
	let sum = 0;
	for (let k = jobs.failed; term > 0 && k <= Math.min(failed, size); k += 1) {
		sum += term;
		term *= ((failed - k) / (k + 1)) * ((size - k) / (all - failed - size + k + 1));
	}
	return sum;
}

const logChoose = (n: number, k: number): number => logFactorial(n) - logFactorial(k) - logFactorial(n - k);

/** Stirling's series from 10 on: exact to 10^-9. */
function logFactorial(n: number): number {
	if (n >= 10) return n * Math.log(n) - n + Math.log(2 * Math.PI * n) / 2 + 1 / (12 * n) - 1 / (360 * n ** 3);
	let product = 1;
	for (let k = 2; k <= n; k += 1) product *= k;
	return Math.log(product);
}
