/** Rules of a job that hold whatever its worker does: it exists, it ends once, retry, deadlines. */
import type { Op, RetryOp, Seen } from "../history.ts";
import { CLOCK_MS, isEnd, type JobHistory, type Observation, over, type Violation } from "./job-history.ts";

/** How late a deadline may show after a pause that the clock of jobs leaves out, ms (D16 Clock). */
const PAUSE_MS = 15_000;

export type Found = Omit<Violation, "job">;
export type JobRule = (job: JobHistory) => Found[];

/** `lines`: in the order of their times. */
export function found(rule: string, what: string, ...lines: (Op | undefined)[]): Found {
	return { rule, what, lines: lines.filter((line) => line !== undefined) };
}

/** An acknowledged job is never missing before its retention ends (D9, D17). */
export const exists: JobRule = (job) => {
	const acknowledged = job.acknowledged();
	if (!acknowledged) return [];
	const ofJob = [...job.reads, ...job.cancels, ...job.retries, ...job.streams, ...job.events];
	const all = [...ofJob, ...job.responseReads, ...job.responseEvents];
	return all
		.filter((op) => op.missing && op.from >= acknowledged.to && !job.mayBeMissing(op))
		.slice(0, 1)
		.map((op) => found("acknowledged-exists", `${op.op} did not find the job`, acknowledged, op));
};

/** In the end a job has a final state, unless it was purged. */
export const ends: JobRule = (job) => {
	const acknowledged = job.acknowledged();
	if (!acknowledged && job.takes.length === 0) return [];
	if (job.end()) return [];
	if ([...job.reads, ...job.submits].some(({ missing }) => missing)) return [];
	return [found("ends", "no final state was seen", acknowledged, ...job.takes.slice(-1))];
};

/** The final state and the result of a job change only by a retry (spec 3, D16). */
export const finalOnce: JobRule = (job) => {
	const violations: Found[] = [];
	/** Per epoch: the first final state that was answered. */
	const first = new Map<number, Observation>();
	for (const each of job.observations()) {
		if (each.epoch === undefined) continue;
		const before = first.get(each.epoch);
		if (!isEnd(each.seen)) {
			if (before && before.to < each.from)
				violations.push(found("final-once", "a job that had ended has not", before.line, each.line));
			continue;
		}
		if (!before || each.to < before.to) first.set(each.epoch, each);
		if (before && !sameEnd(before.seen, each.seen))
			violations.push(found("final-once", "two different ends", before.line, each.line));
	}
	return violations.slice(0, 1);
};

/** Equal in all that both have. */
function sameEnd(a: Seen, b: Seen): boolean {
	if (a.state !== b.state) return false;
	const members = ["output", "error", "delayTime", "executionTime", "retries"] as const;
	// A cancel answers only the state.
	if (a.delayTime === undefined || b.delayTime === undefined) return true;
	return members.every((name) => a[name] === b[name]);
}

/** Only FAILED and TIMED_OUT are retried, and they are (spec 3 rule 1). */
export const retry: JobRule = (job) =>
	job.retries.flatMap((each) => {
		if (each.result === "unknown" || each.missing) return [];
		const state = stateBefore(job, each);
		if (!state) return [];
		const allowed = state.seen.state === "FAILED" || state.seen.state === "TIMED_OUT";
		if (allowed === (each.result === "ok")) return [];
		const what = allowed ? "refused for" : "accepted for";
		return [found("retry", `retry was ${what} a job that is ${state.seen.state}`, state.line, each)];
	});

/** The final state that a job certainly has when a retry is sent. */
function stateBefore(job: JobHistory, q: RetryOp): Observation | undefined {
	const others = job.restarts().filter((each) => each !== q);
	if (others.some((each) => each.from < q.to && over(each) > q.from)) return undefined;
	const epoch = others.filter((each) => over(each) <= q.from).length;
	return job.observations().find((each) => isEnd(each.seen) && each.to < q.from && each.epoch === epoch);
}

/** A cancelled job was cancelled; one that `/cancel` answers as CANCELLED is (spec 3, D10). */
export const cancel: JobRule = (job) => {
	const seen = job.observations().find(({ seen: { state } }) => state === "CANCELLED");
	if (!seen) return [];
	const why = job.cancels.some(({ from, result }) => from < seen.to && result !== "fail");
	return why ? [] : [found("cancel", "CANCELLED without a cancel", seen.line)];
};

/** TIMED_OUT neither before the deadline nor late, with the exact time (D15). */
export const deadlines: JobRule = (job) => {
	const [submit] = job.submits;
	if (!submit) return [];
	const violations: Found[] = [];
	for (const { seen, line, from, to, epoch } of job.observations()) {
		const restart = epoch === undefined ? undefined : job.restarts()[epoch - 1];
		const created = job.createdFrom();
		const began = Math.max(created, epoch === undefined ? 0 : job.restartedFrom(epoch));
		if (seen.state === "TIMED_OUT" && seen.error !== undefined) {
			const lapsed = /ttl/.test(seen.error);
			const [limit, time] = lapsed ? [submit.ttlMs, seen.delayTime] : [submit.timeoutMs, seen.executionTime];
			// The ttl of a job that is returned may have passed while it ran (D54).
			const isLate = lapsed && job.returns.length > 0 && (time ?? 0) > limit;
			if (time !== limit && !isLate)
				violations.push(found("deadlines", `timed out after ${time} ms, not ${limit}`, submit, line));
			if (to < began + limit - CLOCK_MS)
				violations.push(found("deadlines", `timed out before ${limit} ms`, submit, restart, line));
		}
		if (epoch === undefined || isEnd(seen)) continue;
		// The last run or wait began no later than this, where its beginning is known.
		const takes = job.takes.filter((take) => take.from < to);
		const latest = Math.max(submit.to, over(restart ?? submit), ...takes.map(over));
		const unsure = job.drops.length > 0 || job.faultsIn({ from: latest, to }).length > 0;
		if (!unsure && from > latest + Math.max(submit.ttlMs, submit.timeoutMs) + PAUSE_MS)
			violations.push(found("deadlines", "no deadline ended the job", submit, line));
	}
	return violations.slice(0, 1);
};

/** Each end of a job with a webhook has one delivery, which says what was the end (D21). */
export const webhooks: JobRule = (job) => {
	const wanted = job.submits.some(({ webhook }) => webhook);
	const bodies = new Map<string, Seen>();
	for (const each of job.webhooks) {
		const before = bodies.get(each.delivery);
		if (!wanted) return [found("webhook-per-end", "a webhook that was not requested", each)];
		if (before && JSON.stringify(before) !== JSON.stringify(each.seen))
			return [found("webhook-per-end", "attempts of one delivery differ", ...job.webhooks)];
		if (!isEnd(each.seen)) return [found("webhook-per-end", "a webhook of a job that has not ended", each)];
		bodies.set(each.delivery, each.seen);
	}
	if (!wanted || !job.acknowledged()) return [];
	const restarts = job.restarts();
	const accepted = restarts.filter(({ result }) => result === "ok").length;
	const end = job.end();
	const final = end?.seen.delayTime === undefined ? undefined : end;
	const [least, most] = [accepted + Number(final !== undefined), restarts.length + 1];
	if (bodies.size < least || bodies.size > most) {
		const what = `${bodies.size} deliveries, not ${least === most ? least : `${least} to ${most}`}`;
		return [found("webhook-per-end", what, ...job.submits, ...job.webhooks)];
	}
	if (!final || [...bodies.values()].some((seen) => sameEnd(seen, final.seen))) return [];
	return [found("webhook-per-end", "no delivery says the final state", final.line, ...job.webhooks)];
};

export const JOB_RULES: readonly JobRule[] = [exists, ends, finalOnce, retry, cancel, deadlines, webhooks];
