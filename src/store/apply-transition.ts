/**
 * Writes the effects of a core transition and settles jobs whose deadlines have passed (D15).
 * Shared by both dialects.
 */
import { deliveryOf, type NewDelivery } from "../core/delivery.ts";
import {
	dueAt,
	dueEvent,
	errorOf,
	type EventContext,
	lossOf,
	transition,
	type TransitionStep,
} from "../core/job-transitions.ts";
import type { Attempt, Job } from "../core/job.ts";
import { sizeOf } from "../core/json/json-text.ts";
import { isFinal, type JobEvent } from "../core/job-states.ts";
import type { JobResult } from "../core/job-view.ts";
import type { JobRow, Result } from "./row.ts";
import { RUNNING, WAITING } from "./states.ts";
import type { Signal } from "./contract/store.ts";

/** The rows of a dialect, all in memory. */
interface TransitionParts<Row extends JobRow> {
	queues: {
		moved(row: Row, step: TransitionStep): void;
		/** A rank at one end of the row's queue. */
		join(row: Row, end: "front" | "back"): Partial<Row>;
	};
	records: { update(row: Row, change: Partial<Row>): Row; remove(row: Row): void };
	attempts: {
		add(row: Row, past: Attempt): void;
		/** Ended attempts, oldest first. */
		list(row: Row): Attempt[];
		remove(row: Row): void;
	};
	payloads: {
		setResult(row: Row, result: Result): void;
		/** Removes input and result. */
		erase(row: Row): void;
	};
	/** Drops chunks; returns the cursor after that. */
	chunks: { drop(row: Row, which: "undelivered" | "all"): number };
	deliveries: {
		add(delivery: NewDelivery): void;
		/** Drops the bodies of a job's deliveries once they are finished. */
		erase(job: { endpoint: string; id: string }): void;
	};
	signal: (signal: Signal) => void;
	written?: (step: TransitionStep) => void;
}

/** A job as if all its passed deadlines were settled; nothing is written. */
export interface Projection {
	job: Job;
	steps: TransitionStep[];
	/** Error of the last step that sets one. */
	error?: string | undefined;
}

/** The signals that a step causes. */
export function signalsOf({ on, job, place, stop, closed }: TransitionStep): Signal[] {
	const { endpoint, id } = job;
	const signals: Signal[] = [];
	if (place) signals.push({ kind: "queued", endpoint, id, worker: closed?.worker });
	if (isFinal(job.state) && on !== "expire" && on !== "forget")
		signals.push({ kind: "settled", endpoint, id, state: job.state });
	if (stop !== undefined) signals.push({ kind: "stop", endpoint, id, worker: stop });
	return signals;
}

export type Transitions<Row extends JobRow> = ReturnType<typeof openTransitions<Row>>;

export function openTransitions<Row extends JobRow>({
	queues,
	records,
	attempts,
	payloads,
	chunks,
	deliveries,
	signal,
	written,
}: TransitionParts<Row>) {
	/** Adds the webhook delivery that the end of a job causes, if any (D21). */
	function deliver(result: JobResult): void {
		const delivery = deliveryOf(result);
		if (!delivery) return;
		deliveries.add(delivery);
		signal({ kind: "delivery" });
	}

	/** Writes a step. `result`: of an ended job. Undefined if the job was removed. */
	function write(row: Row, taken: TransitionStep, result: Result): Row | undefined {
		queues.moved(row, taken);
		written?.(taken);
		if (taken.ended) deliver({ job: taken.job, ...result });
		if (taken.closed) attempts.add(row, taken.closed);
		const cursor = taken.chunks ? chunks.drop(row, taken.chunks) : row.cursor;
		const outputBytes = taken.clear ? 0 : row.outputBytes + (taken.ended ? bytesOf(result) : 0);
		const place: Partial<JobRow> = taken.place ? queues.join(row, taken.place) : {};
		// Without retention, by `?ttl=0` or the endpoint's setting, the webhook's copy is not kept either.
		if (taken.erase && row.job.retainMs === 0 && row.job.webhook !== undefined) deliveries.erase(row.job);
		if (taken.erase || taken.remove) payloads.erase(row);
		// Leaving the running state clears the progress value; the end of a wait sets an error.
		else if (taken.clear || taken.from === RUNNING || result.error !== undefined) payloads.setResult(row, result);
		if (!taken.remove) return records.update(row, changeOf<Row>({ ...place, job: taken.job, cursor, outputBytes }));
		attempts.remove(row);
		records.remove(row);
		return undefined;
	}

	function announce(taken: TransitionStep): void {
		for (const each of signalsOf(taken)) signal(each);
	}

	/** The error of a job that an event ends. Only "exhaust" needs the attempts. */
	function sentence(on: JobEvent, row: Row, before: Job & Pick<Attempt, "workerEnd">): string | undefined {
		return errorOf(on, before, on === "exhaust" ? attempts.list(row) : []);
	}

	/**
	 * Applies an event now. Undefined if the state table rejects it; `row` is undefined if the job
	 * was removed.
	 */
	function apply(
		row: Row,
		on: JobEvent,
		q: EventContext & { result?: Result },
	): { step: TransitionStep; row: Row | undefined } | undefined {
		const taken = transition(row.job, on, q);
		if (!taken) return undefined;
		const ended = q.workerEnd === undefined ? row.job : { ...row.job, workerEnd: q.workerEnd };
		return {
			step: taken,
			row: write(row, taken, q.result ?? { error: sentence(on, row, ended) }),
		};
	}

	function renewed(job: Job, now: number): Job {
		const after: Job = { ...job, leaseUntil: now + job.leaseMs };
		after.dueAt = dueAt(after);
		return after;
	}

	/** Settles the job up to `now` and sends the signals. Undefined if it was removed. */
	function pass(row: Row, now: number): Row | undefined {
		for (let at: Row | undefined = row; ; ) {
			const due = dueEvent(at.job, now);
			if (!due) return at;
			const applied = apply(at, due.on, { now: due.at });
			if (!applied) return at;
			announce(applied.step);
			at = applied.row;
			if (!at) return undefined;
		}
	}

	/**
	 * Requeues running jobs, those claimed last first, so that their order stays. Signals what the
	 * caller cannot know; returns the requeued ids.
	 */
	function takeBack(rows: readonly Row[], context: EventContext): string[] {
		const back: string[] = [];
		for (const row of rows.toSorted((a, b) => b.rank - a.rank)) {
			// An expired lease counts as lost at its end, however late that is noticed.
			const now = Math.min(context.now, row.job.dueAt);
			const applied = apply(row, lossOf(row.job), { ...context, now });
			if (!applied) continue;
			announce(applied.step);
			const after = applied.row && pass(applied.row, context.now);
			if (after?.job.state === WAITING) back.push(row.job.id);
		}
		return back.toReversed();
	}

	return {
		apply,
		announce,
		pass,
		takeBack,
		renewed,

		/** Settles jobs in the given order; lost ones together, so that they keep their queue order. */
		settleAll(rows: readonly Row[], now: number): void {
			const lost: Row[] = [];
			for (const row of rows) {
				if (dueEvent(row.job, now)?.on === "lose") lost.push(row);
				else pass(row, now);
			}
			takeBack(lost, { now });
		},

		/** Renews the lease of a running job. `missed`: successive pings that did not name it. */
		renew(row: Row, now: number, missed = row.job.missed): Row {
			return records.update(row, changeOf<Row>({ job: renewed({ ...row.job, missed }, now) }));
		},

		/** The job as if settled up to `now`; undefined if it would be removed. */
		project(row: Row, now: number): Projection | undefined {
			const projection: Projection = { job: row.job, steps: [] };
			for (let due = dueEvent(row.job, now); due; due = dueEvent(projection.job, now)) {
				const taken = transition(projection.job, due.on, { now: due.at });
				if (!taken) break;
				projection.error = sentence(due.on, row, projection.job) ?? projection.error;
				projection.job = taken.job;
				projection.steps.push(taken);
				if (taken.remove) return undefined;
			}
			return projection;
		},
	};
}

function bytesOf({ output = "", error = "" }: Result): number {
	return sizeOf(output) + error.length;
}

/** Casts a change common to both dialects to the dialect's row. */
function changeOf<Row extends JobRow>(change: Partial<JobRow>): Partial<Row> {
	return change as Partial<Row>;
}
