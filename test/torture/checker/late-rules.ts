/** Rules of a report that arrives after its run was lost (D16 Late reports). */
import { MAX_LOSSES } from "../../../src/kernel/core/jobs/job-transitions.ts";
import type { ReportOp } from "../history.ts";
import { isEnded, isEndBy } from "./attempt-rules.ts";
import { type Attempt, CLOCK_MS, isEnd, type JobHistory, over } from "./job-history.ts";
import { found, type JobRule } from "./job-rules.ts";

/** A report of the run that was handed out last is the job's end while no other worker can have the job. */
const lateResult: JobRule = (job) => {
	const attempts = job.attempts();
	for (const attempt of attempts) {
		const [report] = attempt.reports;
		if (report?.result !== "ok" || report.to <= job.heldUntil(attempt)) continue;
		if (!isAlone(job, attempts, attempt, report)) continue;
		const violation = isEnded(job, attempt, report);
		if (violation) return [{ ...violation, rule: "late-result" }];
	}
	return [];
};

/** Certainly nothing but this run can have ended the job until its report was acknowledged. */
function isAlone(job: JobHistory, attempts: readonly Attempt[], attempt: Attempt, { from, to }: ReportOp): boolean {
	const { ttlMs = 0, timeoutMs = 0 } = job.submits[0] ?? {};
	const life = { from: job.createdFrom(), to };
	const others = attempts.filter((each) => each !== attempt);
	return (
		to < attempt.from + Math.min(ttlMs, timeoutMs) - CLOCK_MS &&
		// A job that has chunks runs again: some of them may have been dropped with the run.
		job.chunks.length === 0 &&
		// A stop ends a run, and so does the end of its worker.
		attempt.drops.every(({ why, from: dropped }) => dropped > from || why === "omitted" || why === "suspended") &&
		others.every((each) => each.take.to < attempt.from || each.take.from > to) &&
		others.filter((each) => each.to < to).length < MAX_LOSSES - 1 &&
		job.restarts().every((each) => over(each) < attempt.from || each.from > to) &&
		job.cancels.every((each) => each.from > to) &&
		job.purges().every((each) => each.from > to) &&
		job.faultsIn(life).length === 0 &&
		// A take without an answer may have been given the job; only the service may know that it was not.
		!job.isUnsureIn(life)
	);
}

/** A report of a lost run does not end a job that another worker has. */
const lateFence: JobRule = (job) => {
	const attempts = job.attempts();
	for (const { seen, line, to, epoch } of job.observations()) {
		if (epoch === undefined || seen.delayTime === undefined || !isEnd(seen)) continue;
		const since = job.restartedFrom(epoch);
		const ends = attempts.flatMap((attempt) =>
			attempt.reports
				.filter((report) => report.from < to && report.from >= since && isEndBy(seen, report))
				.map((report) => ({ attempt, report, holder: holderAt(job, attempts, attempt, report) })),
		);
		const [first] = ends;
		if (first?.holder && ends.every(({ holder }) => holder !== undefined)) {
			const what = "the report of a lost run ended a job that another worker had";
			return [found("fence", what, first.attempt.take, first.holder.take, first.report, line)];
		}
	}
	return [];
};

export interface LateReports {
	/** Acknowledged after the lease of their run had certainly ended. */
	posted: number;
	/** Of these: when another worker had got the job. */
	besideAnotherRun: number;
	/** Of these: the end of the job is what they say. */
	ended: number;
}

/** Adds those of a job. */
export function countsOfLate(job: JobHistory, counts: LateReports): void {
	const attempts = job.attempts();
	const end = job.end();
	for (const attempt of attempts)
		for (const report of attempt.reports) {
			if (report.result !== "ok" || report.from <= attempt.to + job.terms.leaseMs) continue;
			if (report.to <= job.heldUntil(attempt)) continue;
			counts.posted += 1;
			if (attempts.some(({ from, to }) => from > attempt.to && to < report.from)) counts.besideAnotherRun += 1;
			if (end && isEndBy(end.seen, report)) counts.ended += 1;
		}
}

/** Another run that certainly had the job from before the report until after it. */
function holderAt(job: JobHistory, attempts: readonly Attempt[], attempt: Attempt, report: ReportOp) {
	return attempts.find(
		(each) =>
			each.worker !== attempt.worker &&
			each.from > attempt.to &&
			each.to < report.from &&
			over(report) < job.heldUntil(each) &&
			each.reports.every(({ from }) => from > over(report)),
	);
}

export const LATE_RULES: readonly JobRule[] = [lateResult, lateFence];
