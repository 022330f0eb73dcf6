/** Rules of a job's runs: what a worker gets, what its report does, one run at a time (D16, D17). */
import type { ReportOp, Seen } from "../history.ts";
import { type Attempt, isEnd, type JobHistory, over } from "./job-history.ts";
import { found, type Found, type JobRule } from "./job-rules.ts";

/** Of a job that failed because its runs were lost. */
const LOST = /was lost 3 times/;

/** What is handed out is what was submitted (D5). */
const inputUnchanged: JobRule = (job) => {
	const [submit] = job.submits;
	if (!submit) return [];
	return job.takes
		.filter((take) => take.jobs.some(({ id, input }) => id === job.id && input !== submit.input))
		.slice(0, 1)
		.map((take) => found("input-unchanged", "a worker got another input", submit, take));
};

/** One run at a time while its worker gives signs; never twice to a worker that holds it. */
const oneAttempt: JobRule = (job) => {
	const attempts = job.attempts();
	for (const [index, now] of attempts.entries()) {
		if (now.take.jobs.filter(({ id }) => id === job.id).length > 1)
			return [found("one-attempt-at-a-time", "twice in one answer", now.take)];
		for (const before of attempts.slice(0, index)) {
			const ended = before.reports.some(({ from }) => from < now.to);
			const dropped = [...before.drops, ...before.returns].some(({ from }) => from < now.to);
			if (before.worker === now.worker && !ended && !dropped && !now.take.idle)
				return [found("fence", "a worker got a job that it holds", before.take, now.take)];
			const restarted = job.restarts().some(({ from }) => from < now.to && from > before.from);
			if (ended || dropped || restarted) continue;
			if (job.cancels.some(({ from }) => from < now.to)) continue;
			if (now.to < job.heldUntil(before))
				return [found("one-attempt-at-a-time", "another run holds the job", before.take, now.take)];
		}
	}
	return [];
};

/** A job that has ended is not handed out. */
const noRunAfterEnd: JobRule = (job) => {
	const ends = job.observations().filter(({ seen }) => isEnd(seen));
	for (const take of job.takes)
		for (const end of ends)
			if (end.to < take.from && end.epoch !== undefined && end.epoch === job.epochAt(take))
				return [found("no-run-after-end", "a job that had ended was handed out", end.line, take)];
	return [];
};

/** The result is what one run reported, in the time since the last retry. */
const outputOfOneAttempt: JobRule = (job) => {
	for (const { seen, line, to, epoch } of job.observations()) {
		if (epoch === undefined || seen.delayTime === undefined) continue;
		const since = job.restartedFrom(epoch);
		const reports = job.reports.filter(({ from }) => from < to && from >= since);
		const reported = reports.some((report) => isEndBy(seen, report));
		if (seen.state === "COMPLETED" && !reported)
			return [found("output-of-one-attempt", "no run reported this output", ...job.reports, line)];
		if (seen.state !== "FAILED" || reported) continue;
		const lost = LOST.test(seen.error ?? "") && mayBeLost(job);
		if (!lost) return [found("output-of-one-attempt", "no run reported this failure", ...job.reports, line)];
	}
	return [];
};

export function mayBeLost(job: JobHistory): boolean {
	if (job.drops.length > 0 || job.returns.some(({ loss }) => loss)) return true;
	const [first, last] = [job.createdFrom(), Math.max(...job.lines.map((op) => toOf(op)))];
	return job.faultsIn({ from: first, to: last }).length > 0;
}

function toOf(op: object): number {
	return "to" in op ? (op.to as number) : 0;
}

export function isEndBy(seen: Seen, { kind, text }: ReportOp): boolean {
	return kind === "complete"
		? seen.state === "COMPLETED" && seen.output === text
		: seen.state === "FAILED" && seen.error === text;
}

/** A result that was acknowledged to the worker that held the job is its end (D17). */
const acknowledgedResult: JobRule = (job) => {
	for (const attempt of job.attempts())
		for (const report of attempt.reports) {
			if (report.result !== "ok" || report.to > job.heldUntil(attempt)) continue;
			const violation = isEnded(job, attempt, report);
			if (violation) return [{ ...violation, rule: "acknowledged-result" }];
		}
	return [];
};

/** What shows that the report is not the end of the job, though it had to be. */
export function isEnded(job: JobHistory, attempt: Attempt, report: ReportOp): Omit<Found, "rule"> | undefined {
	const epoch = job.epochAt({ from: attempt.to, to: report.to });
	if (epoch === undefined) return undefined;
	const later = job.takes.find((take) => take.from > report.to && job.epochAt(take) === epoch);
	if (later) {
		const what = "a job whose result was acknowledged was handed out again";
		return { what, lines: [attempt.take, report, later] };
	}
	const since = job.restartedFrom(epoch);
	const earlier = job.reports.filter(({ from }) => from < report.to && from >= since);
	const cancelled = job.cancels.some(({ from, result }) => from < report.to && result !== "fail");
	for (const { seen, line, from, epoch: seenIn } of job.observations()) {
		if (seenIn !== epoch) continue;
		if (!isEnd(seen)) {
			if (from <= report.to) continue;
			const what = "a job whose result was acknowledged has not ended";
			return { what, lines: [attempt.take, report, line] };
		}
		if (seen.delayTime === undefined || (seen.state === "CANCELLED" && cancelled)) continue;
		if (!earlier.some((each) => isEndBy(seen, each)))
			return { what: "the job ended otherwise", lines: [attempt.take, report, line] };
	}
	return undefined;
}

/** After an answered cancel of a running job its end is not a report (spec 3). */
const cancelHolds: JobRule = (job) => {
	for (const each of job.cancels) {
		if (each.state !== "CANCELLED") continue;
		const other = job.observations().find(({ seen, from }) => from > over(each) && seen.state !== "CANCELLED");
		if (other) return [found("cancel", "a cancelled job has another state", each, other.line)];
	}
	return [];
};

export const ATTEMPT_RULES: readonly JobRule[] = [
	inputUnchanged,
	oneAttempt,
	noRunAfterEnd,
	outputOfOneAttempt,
	acknowledgedResult,
	cancelHolds,
];
