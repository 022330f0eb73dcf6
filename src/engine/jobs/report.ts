/**
 * A worker says how a job goes: progress, chunk, result (D16, D19). Kept before it is acknowledged
 * (D17).
 */
import { sizeOf } from "../../core/json/json-text.ts";
import type { Report } from "../../core/report.ts";
import { executionTime } from "../../core/job-view.ts";
import type { EventBus } from "../../events.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { RetryWhileUnavailable } from "../availability/retry-while-unavailable.ts";
import { isJobId } from "../../ids.ts";
import type { StopSignals } from "../workers/stop-signals.ts";
import type { CompletionWaiters } from "./wait.ts";
import type { Worker } from "../workers/worker-registry.ts";
import { releaseJobById } from "../workers/worker-registry.ts";

interface Deps {
	store: Pick<Store, "jobs" | "chunks">;
	now: () => number;
	events: EventBus;
	hold: RetryWhileUnavailable;
	dispatch: Dispatch;
	waiting: CompletionWaiters;
	stopping: StopSignals;
	/** The worker asks to be started anew (protocol B.5). */
	restart: (worker: Worker) => void;
}

/**
 * Keeps a report. Nothing is refused: a report on a job the worker does not hold changes nothing
 * (D16 Fence).
 */
export async function report(
	d: Deps,
	q: { worker: Worker; id: string; report: Report; signal?: AbortSignal },
): Promise<void> {
	const { worker, id, report: said } = q;
	const { endpoint } = worker;
	if (!isJobId(id))
		return d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why: "missing" });
	if (said.kind === "progress") {
		const kept = await d.hold(
			() =>
				d.store.jobs.progress({ endpoint, id, worker: worker.id, value: said.value, now: d.now() }),
			{ bytes: sizeOf(said.value), signal: q.signal },
		);
		if (!kept) d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why: "stale" });
		return;
	}
	const outcome = { on: said.on, output: said.output, error: said.error };
	const before = worker.held.get(id);
	const moved = await d.hold(
		() => d.store.jobs.report({ endpoint, id, worker: worker.id, outcome, now: d.now() }),
		{ bytes: sizeOf(said.output ?? "") + sizeOf(said.error ?? ""), signal: q.signal },
	);
	releaseJobById(worker, id, { before, now: d.now() });
	d.stopping.over(worker, id);
	if (moved.ok) {
		d.events.emit("job.settled", {
			endpoint,
			id,
			state: moved.job.state,
			ranMs: executionTime(moved.job, moved.job.endedAt!),
		});
		d.waiting.ended({ job: moved.job, output: said.output, error: said.error });
	} else {
		d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why: moved.why });
		// The old attempt is over with this report: the job may come to this worker again.
		if (moved.why === "stale") d.dispatch.announce(endpoint);
	}
	if (said.restart) d.restart(worker);
}

/**
 * Keeps chunks, split already. `unsure`: our answer to the last post may not have arrived, so an
 * equal one is a repeat (D7).
 */
export async function chunks(
	d: Omit<Deps, "restart" | "stopping" | "dispatch">,
	q: {
		worker: Worker;
		id: string;
		pieces: readonly string[];
		unsure: boolean;
		signal?: AbortSignal;
	},
): Promise<void> {
	const { worker, id } = q;
	const { endpoint } = worker;
	if (!isJobId(id))
		return d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why: "missing" });
	const added = await d.hold(
		(again) =>
			d.store.chunks.append({
				endpoint,
				id,
				worker: worker.id,
				chunks: q.pieces,
				unlessLast: q.unsure || again.unsure,
				now: d.now(),
			}),
		{ bytes: q.pieces.reduce((sum, piece) => sum + piece.length, 0), signal: q.signal },
	);
	if (added.ok) d.waiting.news(id);
	else d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why: added.why });
}
