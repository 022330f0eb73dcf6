/** Rules of jobs that workers return, and of the numbers of runs (D54, D55). */
import { type Attempt, isEnd, type JobHistory, over } from "./job-history.ts";
import { found, type JobRule } from "./job-rules.ts";

/** A job does not run on at the worker that returned it. */
const notRunning: JobRule = (job) => {
	// What a worker that lost the job posts late may begin its run again.
	if (job.drops.length > 0) return [];
	for (const attempt of job.attempts())
		for (const each of heldReturns(job, attempt)) {
			const epoch = job.epochAt({ from: attempt.to, to: each.to });
			const seen = job.observations().find((read) => {
				if (read.epoch === undefined || read.epoch !== epoch || read.from <= each.to) return false;
				return read.seen.state === "IN_PROGRESS" && !isTakenIn(job, { from: each.from, to: read.to });
			});
			if (seen) return [found("return", "a job that its worker returned still runs", attempt.take, each, seen.line)];
		}
	return [];
};

/** Returns of an attempt that certainly held the job until they were acknowledged. */
function heldReturns(job: JobHistory, attempt: Attempt) {
	const until = job.heldUntil({ ...attempt, returns: [] });
	return attempt.returns.filter(({ result, to }) => result === "ok" && to <= until);
}

/**
 * Whether a worker got the job, or may have. A claim that a failing store answered with an error may have been stored:
 * the take of its worker waits on, and the lease ends the attempt.
 */
function isTakenIn(job: JobHistory, { from, to }: { from: number; to: number }): boolean {
	if (job.takes.some((take) => take.to > from && take.from < to)) return true;
	return job.isUnsureIn({ from, to }) || job.faultsIn({ from, to }).length > 0;
}

/** Of returns only those as a loss count, each once. */
const counted: JobRule = (job) => {
	const restarts = job.restarts();
	const since = Math.max(0, ...restarts.map(over));
	const end = job.observations().find(({ seen, from }) => isEnd(seen) && seen.delayTime !== undefined && from >= since);
	if (job.returns.length === 0 || end?.seen.state !== "COMPLETED") return [];
	const life = { from: job.createdFrom(), to: end.to };
	if (job.isUnsureIn(life)) return [];
	const { retries = 0 } = end.seen;
	const attempts = job.attempts();
	const held = attempts.flatMap((attempt) => heldReturns(job, attempt));
	const isQuiet = job.drops.length === 0 && job.cancels.length === 0 && job.faultsIn(life).length === 0;
	const isCertain = isQuiet && held.length === job.returns.length && restarts.every(({ result }) => result === "ok");
	const expected = restarts.length + held.filter(({ loss }) => loss).length;
	// Every other attempt may have been lost, also the one whose report came late.
	const most = restarts.length + attempts.length - held.filter(({ loss }) => !loss).length;
	if (isCertain ? retries === expected : retries <= most) return [];
	const what = `${retries} retries, not ${isCertain ? expected : `at most ${most}`}`;
	return [found("return", what, ...job.returns, ...restarts, end.line)];
};

/** The run has one number more than retries before it. */
const numbered: JobRule = (job) => {
	if (job.restarts().some(({ result }) => result !== "ok")) return [];
	for (const take of job.takes) {
		const epoch = job.epochAt(take);
		const wrong = take.jobs.find(({ id, run }) => id === job.id && run !== undefined && run !== (epoch ?? 0) + 1);
		if (epoch !== undefined && wrong)
			return [found("run-number", `run ${wrong.run} after ${epoch} retries`, ...job.restarts(), take)];
	}
	return [];
};

export const RETURN_RULES: readonly JobRule[] = [notRunning, counted, numbered];
