/**
 * A worker reports a job's progress, result or failure (D16, D19). Persisted before it is
 * acknowledged (D17).
 */
import { share, sizeOf } from "../../core/json/json-text.ts";
import type { Report } from "../../core/report.ts";
import { executionTime } from "../../core/job-view.ts";
import { isJobId } from "../../ids.ts";
import { releaseJobById, type Worker } from "../workers/worker-registry.ts";
import type { JobDeps } from "./job-deps.ts";

/** Never refused: a report on a job that the worker does not hold changes nothing (D16 Fence). */
export async function report(
	d: Pick<JobDeps, "store" | "now" | "events" | "retry" | "dispatch" | "waiters" | "workers">,
	q: { worker: Worker; id: string; report: Report; signal?: AbortSignal },
): Promise<void> {
	const { worker, id, report: received } = q;
	const { endpoint } = worker;
	const drop = (why: "missing" | "state" | "stale"): void =>
		d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why });
	if (!isJobId(id)) return drop("missing");
	if (received.kind === "progress") {
		const { value } = received;
		const kept = await d.retry(() => d.store.jobs.progress({ endpoint, id, worker: worker.id, value, now: d.now() }), {
			bytes: sizeOf(value),
			signal: q.signal,
		});
		if (kept) d.events.emit("job.progressed", { endpoint, id });
		else drop("stale");
		return;
	}
	const { on, output, error } = received;
	const before = worker.held.get(id);
	const moved = await d.retry(
		() =>
			d.store.jobs.report({
				endpoint,
				id,
				worker: worker.id,
				outcome: { on, output, error },
				now: d.now(),
			}),
		{ bytes: sizeOf(output ?? "") + sizeOf(error ?? ""), signal: q.signal },
	);
	releaseJobById(worker, id, { before, now: d.now() });
	d.workers.stopSignals.over(worker, id);
	if (moved.ok) {
		const { job } = moved;
		const ranMs = executionTime(job, job.endedAt!);
		d.events.emit("job.settled", { endpoint, id, state: job.state, ranMs, worker: worker.id });
		const readers = d.waiters.jobEnded({ job, output, error });
		if (output !== undefined) share(output, readers);
	} else {
		drop(moved.why);
		// This report ends the old attempt: the job may be dispatched to this worker again.
		if (moved.why === "stale") d.dispatch.announce(endpoint);
	}
	if (received.restart) d.workers.launcher.retire(worker, "it asked to be restarted");
}
