/**
 * Writes what a step of the pure core brings about, and settles what has passed for a job (D15).
 * Both dialects do it by this file, over rows of their own.
 */
import { deliveryOf } from "../core/delivery.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { dueAt, dueEvent, errorOf, lossOf, transition } from "../core/job-transitions.ts";
import type { EventContext, TransitionStep } from "../core/job-transitions.ts";
import type { Attempt, Job } from "../core/job.ts";
import type { JobEvent } from "../core/job-states.ts";
import { isFinal } from "../core/job-states.ts";
import type { JobResult } from "../core/job-view.ts";
import type { JobRow, Result } from "./row.ts";
import { RUNNING, WAITING } from "./states.ts";
import type { Signal } from "./contract/store.ts";

/** What {@link openTransitions} works on: the rows of a dialect, all at hand at once. */
export interface TransitionParts<Row extends JobRow> {
	queues: {
		/** Counts a move. */
		moved(row: Row, step: TransitionStep): void;
		/** A place at an end of the row's queue. */
		join(row: Row, end: "front" | "back"): Partial<Row>;
	};
	records: { update(row: Row, change: Partial<Row>): Row; remove(row: Row): void };
	attempts: {
		add(row: Row, past: Attempt): void /** Ended attempts, oldest first. */;
		list(row: Row): Attempt[];
		remove(row: Row): void;
	};
	payloads: {
		setResult(row: Row, result: Result): void /** Removes input and result. */;
		erase(row: Row): void;
	};
	/** Drops chunks and answers where the cursor is then. */
	chunks: { drop(row: Row, which: "undelivered" | "all"): number };
	deliveries: { add(delivery: NewDelivery): void };
	signal: (signal: Signal) => void;
	/** Called with each step that was written. */
	written?: (step: TransitionStep) => void;
}

/** A job as it would be after everything that has passed for it, without a write. */
export interface Projection {
	job: Job;
	/** Steps that have passed, in order. */
	steps: TransitionStep[];
	/** The sentence of the last one that gives the job an error. */
	error?: string | undefined;
}

/** What a step is a hint of. */
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
	/** Adds the delivery that the end of a job brings about, if any (D21). */
	function deliver(result: JobResult): void {
		const delivery = deliveryOf(result);
		if (!delivery) return;
		deliveries.add(delivery);
		signal({ kind: "delivery" });
	}

	/**
	 * Writes a step. `result` is what a job ends with. Undefined when nothing of the job is
	 * left.
	 */
	function write(row: Row, taken: TransitionStep, result: Result): Row | undefined {
		queues.moved(row, taken);
		written?.(taken);
		if (taken.ended) deliver({ job: taken.job, ...result });
		if (taken.closed) attempts.add(row, taken.closed);
		const cursor = taken.chunks ? chunks.drop(row, taken.chunks) : row.cursor;
		const place: Partial<JobRow> = taken.place ? queues.join(row, taken.place) : {};
		if (taken.erase || taken.remove) payloads.erase(row);
		// Leaving the running state takes the progress value away; the end of a wait leaves a sentence.
		else if (taken.clear || taken.from === RUNNING || result.error !== undefined)
			payloads.setResult(row, result);
		if (!taken.remove)
			return records.update(row, changeOf<Row>({ ...place, job: taken.job, cursor }));
		attempts.remove(row);
		records.remove(row);
		return undefined;
	}

	function announce(taken: TransitionStep): void {
		for (const each of signalsOf(taken)) signal(each);
	}

	/** The sentence for a job that an event ends; the history is read only where it contains it. */
	function sentence(on: JobEvent, row: Row, before: Job): string | undefined {
		return errorOf(on, before, on === "exhaust" ? attempts.list(row) : []);
	}

	/**
	 * Applies an event now. Undefined when the table refuses it; `row` in the answer is absent when
	 * nothing is left.
	 */
	function apply(
		row: Row,
		on: JobEvent,
		q: EventContext & { result?: Result },
	): { step: TransitionStep; row: Row | undefined } | undefined {
		const taken = transition(row.job, on, q);
		if (!taken) return undefined;
		return {
			step: taken,
			row: write(row, taken, q.result ?? { error: sentence(on, row, row.job) }),
		};
	}

	/** The running job with a full lease from `now`. */
	function renewed(job: Job, now: number): Job {
		const after: Job = { ...job, leaseUntil: now + job.leaseMs };
		after.dueAt = dueAt(after);
		return after;
	}

	/**
	 * Settles all that has passed for the job up to `now`, announced. Undefined when nothing of it is
	 * left.
	 */
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
	 * Takes running jobs back, those that left the queue last first, so that they wait in their old
	 * order. Announces what the caller cannot know; returns the ids that wait again.
	 */
	function takeBack(rows: readonly Row[], context: EventContext): string[] {
		const back: string[] = [];
		for (const row of rows.toSorted((a, b) => b.rank - a.rank)) {
			// A lease that ended was lost at its end, however late that is noticed.
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

		/**
		 * Settles what has passed for jobs, in the order given; lost ones together, so that they keep
		 * their order in the queue.
		 */
		settleAll(rows: readonly Row[], now: number): void {
			const lost: Row[] = [];
			for (const row of rows) {
				if (dueEvent(row.job, now)?.on === "lose") lost.push(row);
				else pass(row, now);
			}
			takeBack(lost, { now });
		},

		/**
		 * Renews the lease of a running job; `missed` are the pings that did not name it so far,
		 * unchanged when absent.
		 */
		renew(row: Row, now: number, missed = row.job.missed): Row {
			return records.update(row, changeOf<Row>({ job: renewed({ ...row.job, missed }, now) }));
		},

		/**
		 * The job as if all that has passed for it were settled; undefined when nothing of it is left.
		 */
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

/** What every row may change by, as a change of a dialect's row. */
function changeOf<Row extends JobRow>(change: Partial<JobRow>): Partial<Row> {
	return change as Partial<Row>;
}
