import { NAMED, signed } from "../../core/jobs/attempt-signs.ts";
import { returnEvent } from "../../core/jobs/job-return.ts";
import { dueAt, isAbout, lossOf, resumedBy } from "../../core/jobs/job-transitions.ts";
import { allowed } from "../../core/jobs/job-states.ts";
import { type JobRow, RUNNING, WAITING } from "../row.ts";
import type { MoveResult, Outcome } from "../contract/jobs.ts";
import { isFull } from "./insert.ts";
import type { SharedOperation, SharedRead } from "./operation.ts";
import type { JobKey, UnitOfWork } from "./unit-of-work.ts";

const readsJob = ({ endpoint, id }: JobKey) => ({ jobs: [{ endpoint, id }] });

/** Returns the row with passed deadlines settled; undefined for an unknown or erased job. */
export function current<Row extends JobRow>(unit: UnitOfWork<Row>, q: JobKey & { now: number }): Row | undefined {
	const found = unit.records.find(q);
	const row = found && unit.transitions.pass(found, q.now);
	return row?.job.erased ? undefined : row;
}

/** Returns the row if the worker runs the job now (D16). */
function held<Row extends JobRow>(row: Row, worker: string): Row | undefined {
	return row.job.state === RUNNING && row.job.worker === worker ? row : undefined;
}

/** Whether a post of the worker that runs the job is about its present attempt. */
function isAboutRun<Row extends JobRow>(unit: UnitOfWork<Row>, row: Row, attempt: number | undefined): boolean {
	const { worker = "", startedAt = 0, attempt: present } = row.job;
	return isAbout(attempt, { attempt: present, worker, startedAt }, () => unit.attempts.list(row));
}

/**
 * Returns the row of a job that the worker runs. A job that the worker lost, and that no worker was given since, runs
 * there again (D16 Late reports). Undefined if the post names another attempt.
 */
export function runningAt<Row extends JobRow>(
	unit: UnitOfWork<Row>,
	row: Row,
	q: { worker: string; release: number | undefined; attempt?: number | undefined; now: number },
): Row | undefined {
	if (!allowed(row.job.state, "resume")) {
		const running = held(row, q.worker);
		return running && isAboutRun(unit, running, q.attempt) ? running : undefined;
	}
	const resumed = resumedBy(row, unit.attempts.list(row), q);
	if (!resumed) return undefined;
	unit.attempts.closeAt(row, q.worker);
	return unit.transitions.apply(row, "resume", resumed)?.row;
}

export function hadJob<Row extends JobRow>(unit: UnitOfWork<Row>, row: Row, worker: string): boolean {
	return row.job.worker === worker || unit.attempts.includes(row, worker);
}

function moved<Row extends JobRow>(row: Row, applied: ReturnType<UnitOfWork<Row>["transitions"]["apply"]>): MoveResult {
	return applied ? { ok: true, job: applied.step.job } : { ok: false, why: "state", state: row.job.state };
}

/** Ends the attempt of a worker that does not run the job: its start failed, or it returns the job. */
function giveBack<Row extends JobRow>(
	unit: UnitOfWork<Row>,
	row: Row,
	{ on, attempt, workerEnd, now }: Outcome & { on: "release" | "return" | "lose"; now: number },
): MoveResult {
	const returned = on !== "release";
	const isOther = attempt === undefined ? !returned : !isAboutRun(unit, row, attempt);
	if (isOther) return { ok: false, why: "stale", state: row.job.state };
	const event = returned ? returnEvent(row.job, { history: unit.attempts.list(row), asLoss: on === "lose", now }) : on;
	const lost = event !== "release";
	const context = { now, over: true, workerEnd, returned, keepsDeadline: !lost };
	const ended = moved(row, unit.transitions.apply(row, event, context));
	return ended.ok && lost ? { ...ended, lost } : ended;
}

export const report: SharedOperation<"jobs.report"> = {
	kind: "write",
	reads: readsJob,
	apply(unit, { endpoint, id, worker, release, outcome, now }) {
		const row = current(unit, { endpoint, id, now });
		if (!row) return { ok: false, why: "missing" };
		const { state } = row.job;
		const { on, output, error } = outcome;
		const isEnd = on === "complete" || on === "fail";
		const running = isEnd ? runningAt(unit, row, { worker, release, now }) : held(row, worker);
		if (running) {
			if (!isEnd) return giveBack(unit, running, { ...outcome, on, now });
			const ended = moved(running, unit.transitions.apply(running, on, { now, result: { output, error } }));
			return ended.ok && running !== row ? { ...ended, late: true } : ended;
		}
		if (!hadJob(unit, row, worker)) return { ok: false, why: "missing", state };
		// Another worker may have the job, so the only effect is that this worker's attempts have ended. A report that
		// names its attempt says nothing of later ones.
		const { attempt } = outcome;
		if (attempt === undefined) unit.attempts.closeAt(row, worker);
		else
			for (const past of unit.attempts.list(row))
				if (past.open && past.worker === worker && past.attempt <= attempt) unit.attempts.close(row, past, past);
		return { ok: false, why: "stale", state };
	},
};

export const progress: SharedOperation<"jobs.progress"> = {
	kind: "write",
	reads: readsJob,
	apply(unit, { endpoint, id, worker, release, value, now }) {
		const row = current(unit, { endpoint, id, now });
		const running = row && runningAt(unit, row, { worker, release, now });
		if (!running) return false;
		unit.payloads.setResult(running, { output: value });
		unit.transitions.renew(running, now);
		return true;
	},
};

export const renew: SharedOperation<"jobs.renew"> = {
	kind: "write",
	reads: readsJob,
	apply(unit, { endpoint, id, worker, now }) {
		const row = current(unit, { endpoint, id, now });
		if (!row) return;
		for (const past of unit.attempts.list(row))
			if (past.open && past.worker === worker) unit.attempts.setSigns(row, past, signed(past, now));
		const running = held(row, worker);
		if (running) unit.transitions.renew(running, now, NAMED);
	},
};

export const move: SharedOperation<"jobs.move"> = {
	kind: "write",
	reads: readsJob,
	follow: (_unit, { endpoint, on, queueBound, now }) =>
		on === "retry" && queueBound !== undefined ? { waiting: { endpoint, now, most: queueBound } } : undefined,
	apply(unit, { endpoint, id, on, attempt, over = false, queueBound, now }) {
		const row = current(unit, { endpoint, id, now });
		if (!row) return { ok: false, why: "missing" };
		if (on === "retry" && allowed(row.job.state, on) && isFull(unit, { endpoint, bound: queueBound, now }))
			return { ok: false, why: "full" };
		if ((on === "release" || on === "lose") && attempt !== row.job.attempt)
			return { ok: false, why: "stale", state: row.job.state };
		return moved(row, unit.transitions.apply(row, on === "lose" ? lossOf(row.job) : on, { now, over }));
	},
};

export const retain: SharedOperation<"jobs.retain"> = {
	kind: "write",
	reads: readsJob,
	follow(unit, q) {
		const row = unit.records.find(q);
		return row && row.job.state !== WAITING ? { result: row } : undefined;
	},
	apply(unit, { endpoint, id, retainMs, now }) {
		const row = current(unit, { endpoint, id, now });
		if (!row || retainMs >= row.job.retainMs) return row && unit.views.stored(row);
		const job = { ...row.job, retainMs };
		const after = unit.records.update(row, { job: { ...job, dueAt: dueAt(job) } });
		const last = unit.views.stored(after);
		unit.transitions.pass(after, now);
		return last;
	},
};

export const get: SharedRead<"jobs.get"> = {
	kind: "read",
	reads: ({ endpoint, id, large }) => ({
		jobs: [{ endpoint, id }],
		payloads: large === undefined ? "output" : "small",
	}),
	apply(unit, q) {
		const row = unit.records.find(q);
		return row && unit.views.result(row, q.now, q.large);
	},
};

export const record: SharedRead<"jobs.record"> = {
	kind: "read",
	reads: ({ endpoint, id, large }) => ({
		jobs: [{ endpoint, id }],
		payloads: large === undefined ? "all" : "all small",
	}),
	apply(unit, q) {
		const row = unit.records.find(q);
		return row && unit.views.record(row, q.now, q.large);
	},
};

export const attempts: SharedRead<"jobs.attempts"> = {
	kind: "read",
	reads: ({ endpoint, id }) => ({ jobs: [{ endpoint, id }] }),
	apply(unit, q) {
		const row = unit.records.find(q);
		return row ? unit.attempts.list(row) : [];
	},
};

/** Replaces the `s3Config` of a job, encrypted under another key (D22). */
export const replaceSealed: SharedOperation<"secrets.replaceJob"> = {
	kind: "write",
	reads: ({ endpoint, id }) => ({ jobs: [{ endpoint, id }] }),
	apply(unit, { endpoint, id, from, to }) {
		const row = unit.records.find({ endpoint, id });
		if (row?.job.s3Config !== from) return false;
		unit.records.update(row, { job: { ...row.job, s3Config: to } });
		return true;
	},
};
