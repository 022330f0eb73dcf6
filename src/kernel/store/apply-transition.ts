/** Writes the effects of a core transition and settles passed deadlines (D15), for both dialects. */
import { deliveryOf, type NewDelivery } from "../core/webhooks.ts";
import {
	dueAt,
	dueEvent,
	errorOf,
	type EventContext,
	lossOf,
	transition,
	type TransitionStep,
} from "../core/jobs/job-transitions.ts";
import type { Attempt, Job } from "../core/jobs/job.ts";
import { sizeOf } from "../lib/json/json-text.ts";
import { isFinal, type JobEvent } from "../core/jobs/job-states.ts";
import type { JobResult } from "../core/jobs/job-view.ts";
import { type JobRow, type Result, RUNNING, WAITING } from "./row.ts";
import type { Signal } from "./contract/store.ts";

interface TransitionParts<Row extends JobRow> {
	queues: {
		moved(row: Row, step: TransitionStep): void;
		join(row: Row, end: "front" | "back"): Partial<Row>;
	};
	records: { update(row: Row, change: Partial<Row>): Row; remove(row: Row): void };
	attempts: {
		add(row: Row, past: Attempt): void;
		list(row: Row): Attempt[];
		remove(row: Row): void;
	};
	payloads: {
		setResult(row: Row, result: Result): void;
		erase(row: Row): void;
	};
	/** Removes chunks of a job and returns its cursor afterwards. */
	chunks: { drop(row: Row, which: "undelivered" | "all"): number };
	deliveries: {
		add(delivery: NewDelivery): void;
		/** Removes the bodies of a job's deliveries once these are finished. */
		erase(job: { endpoint: string; id: string }): void;
	};
	signal: (signal: Signal) => void;
	written?: (step: TransitionStep) => void;
}

export interface Projection {
	job: Job;
	steps: TransitionStep[];
	/** Error of the last step that set one. */
	error?: string | undefined;
}

export function signalsOf({ on, job, place, stop, closed }: TransitionStep): Signal[] {
	const { endpoint, id, release } = job;
	const signals: Signal[] = [];
	const silent = on === "lose" && closed?.open === true ? closed.worker : undefined;
	if (place)
		signals.push({ kind: "queued", endpoint, id, worker: closed?.worker, ...(silent !== undefined && { silent }) });
	if (isFinal(job.state) && on !== "expire" && on !== "forget")
		signals.push({ kind: "settled", endpoint, id, state: job.state, release });
	if (stop !== undefined) signals.push({ kind: "stop", endpoint, id, worker: stop });
	return signals;
}

export class Transitions<Row extends JobRow> {
	readonly #parts;

	constructor(parts: TransitionParts<Row>) {
		this.#parts = parts;
	}

	/** Applies an event. Undefined if the state table rejects it; `row` is undefined if the job was removed. */
	apply(
		row: Row,
		on: JobEvent,
		q: EventContext & { result?: Result },
	): { step: TransitionStep; row: Row | undefined } | undefined {
		const step = transition(row.job, on, q);
		if (!step) return undefined;
		const ended = q.workerEnd === undefined ? row.job : { ...row.job, workerEnd: q.workerEnd };
		return { step, row: this.#write(row, step, q.result ?? { error: this.#sentence(on, row, ended) }) };
	}

	announce(taken: TransitionStep): void {
		for (const each of signalsOf(taken)) this.#parts.signal(each);
	}

	/** Settles the passed deadlines of a job. Undefined if the job was removed. */
	pass(row: Row, now: number): Row | undefined {
		for (let at: Row | undefined = row; ; ) {
			const due = dueEvent(at.job, now);
			if (!due) return at;
			const applied = this.apply(at, due.on, { now: due.at });
			if (!applied) return at;
			this.announce(applied.step);
			at = applied.row;
			if (!at) return undefined;
		}
	}

	/**
	 * Requeues running jobs, those claimed last first, which keeps their order. Signals changes that the caller cannot
	 * know of, and returns the requeued ids.
	 */
	takeBack(rows: readonly Row[], context: EventContext): string[] {
		const back: string[] = [];
		for (const row of rows.toSorted((a, b) => b.rank - a.rank)) {
			// An expired lease counts as lost at its end, however late that is noticed.
			const now = Math.min(context.now, row.job.dueAt);
			const applied = this.apply(row, lossOf(row.job), { ...context, now });
			if (!applied) continue;
			this.announce(applied.step);
			const after = applied.row && this.pass(applied.row, context.now);
			if (after?.job.state === WAITING) back.push(row.job.id);
		}
		return back.toReversed();
	}

	settleAll(rows: readonly Row[], now: number): void {
		const lost: Row[] = [];
		for (const row of rows) {
			if (dueEvent(row.job, now)?.on === "lose") lost.push(row);
			else this.pass(row, now);
		}
		this.takeBack(lost, { now });
	}

	renewed(job: Job, now: number): Job {
		const after: Job = { ...job, leaseUntil: now + job.leaseMs };
		after.dueAt = dueAt(after);
		return after;
	}

	/** Renews the lease. `signs`: what the call shows of the run. */
	renew(row: Row, now: number, signs: Pick<Job, "missed" | "deniedAt"> = row.job): Row {
		const { missed, deniedAt } = signs;
		return this.#parts.records.update(row, changeOf<Row>({ job: this.renewed({ ...row.job, missed, deniedAt }, now) }));
	}

	project(row: Row, now: number): Projection | undefined {
		const projection: Projection = { job: row.job, steps: [] };
		for (let due = dueEvent(row.job, now); due; due = dueEvent(projection.job, now)) {
			const taken = transition(projection.job, due.on, { now: due.at });
			if (!taken) break;
			projection.error = this.#sentence(due.on, row, projection.job) ?? projection.error;
			projection.job = taken.job;
			projection.steps.push(taken);
			if (taken.remove) return undefined;
		}
		return projection;
	}

	/** Writes the effects of a step. `result`: that of an ended job. Undefined if the job was removed. */
	#write(row: Row, taken: TransitionStep, result: Result): Row | undefined {
		const { queues, records, attempts, payloads, chunks, deliveries, written } = this.#parts;
		queues.moved(row, taken);
		written?.(taken);
		if (taken.ended) this.#deliver({ job: taken.job, ...result });
		if (taken.closed) attempts.add(row, taken.closed);
		const cursor = taken.chunks ? chunks.drop(row, taken.chunks) : row.cursor;
		const outputBytes = taken.clear ? 0 : row.outputBytes + (taken.ended ? bytesOf(result) : 0);
		const place: Partial<JobRow> = taken.place ? queues.join(row, taken.place) : {};
		// Without retention, by `?ttl=0` or the endpoint's setting, the webhook's copy is not kept either.
		if (taken.erase && row.job.retainMs === 0 && row.job.webhook !== undefined) deliveries.erase(row.job);
		if (taken.erase || taken.remove) payloads.erase(row);
		// The progress value is removed when the job stops running; the end of a wait may set an error.
		else if (taken.clear || taken.from === RUNNING || result.error !== undefined) payloads.setResult(row, result);
		if (!taken.remove) return records.update(row, changeOf<Row>({ ...place, job: taken.job, cursor, outputBytes }));
		attempts.remove(row);
		records.remove(row);
		return undefined;
	}

	/** Adds the webhook delivery that the end of a job causes, if any (D21). */
	#deliver(result: JobResult): void {
		const delivery = deliveryOf(result);
		if (!delivery) return;
		this.#parts.deliveries.add(delivery);
		this.#parts.signal({ kind: "delivery" });
	}

	/** Attempts are read only for "exhaust", whose sentence lists them. */
	#sentence(on: JobEvent, row: Row, before: Job & Pick<Attempt, "workerEnd">): string | undefined {
		return errorOf(on, before, on === "exhaust" ? this.#parts.attempts.list(row) : []);
	}
}

function bytesOf({ output = "", error = "" }: Result): number {
	return sizeOf(output) + error.length;
}

function changeOf<Row extends JobRow>(change: Partial<JobRow>): Partial<Row> {
	return change as Partial<Row>;
}
