/** A worker's progress, result or failure (D16, D19), persisted before it is acknowledged (D17). */
import { share, sizeOf } from "../../../lib/json/json-text.ts";
import { type Report, startFailureIn } from "../../../core/jobs/report.ts";
import { executionTime } from "../../../core/jobs/job-view.ts";
import { isJobId } from "../../../core/jobs/job.ts";
import { releaseJobById, type Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { markUnhealthy } from "./ping.ts";

/** Never refused: a report on a job that the worker does not hold changes nothing (D16 Fence). */
export async function report(
	d: JobDeps,
	q: { worker: Worker; id: string; report: Report; signal?: AbortSignal | undefined },
): Promise<void> {
	const { worker, id, report: received } = q;
	const { endpoint } = worker;
	if (!isJobId(id)) return reportDropped(d, q, "missing");
	if (received.kind === "progress") {
		const { value } = received;
		const kept = await d.retry(() => d.store.jobs.progress({ endpoint, id, worker: worker.id, value, now: d.now() }), {
			bytes: sizeOf(value),
			signal: q.signal,
		});
		if (kept) d.events.emit("job.progressed", { endpoint, id });
		else reportDropped(d, q, "stale");
		return;
	}
	const failure = received.on === "fail" ? startFailureIn(received.error) : undefined;
	if (failure?.isCrash) markUnhealthy(d, worker, failure.reason);
	const { output, error } = failure ? {} : received;
	const on = failure ? "release" : received.on;
	const before = worker.held.get(id);
	const moved = await d.retry(
		() =>
			d.store.jobs.report({
				endpoint,
				id,
				worker: worker.id,
				outcome: { on, output, error, ...(failure && { workerEnd: failure.reason }) },
				now: d.now(),
			}),
		{ bytes: sizeOf(output ?? "") + sizeOf(error ?? ""), signal: q.signal },
	);
	releaseJobById(worker, id, { before, now: d.now() });
	d.workers.stopSignals.over(worker, id);
	if (moved.ok && failure) {
		d.events.emit("job.returned", { endpoint, id, worker: worker.id, why: "released" });
		d.dispatch.announce(endpoint);
	} else if (moved.ok) {
		const { job } = moved;
		const ranMs = executionTime(job, job.endedAt!);
		d.events.emit("job.settled", { endpoint, id, state: job.state, ranMs, worker: worker.id });
		const readers = d.waiters.jobEnded({ job, output, error });
		if (output !== undefined) share(output, readers);
	} else {
		reportDropped(d, q, moved.why);
		// This report ends the old attempt: the job may be dispatched to this worker again.
		if (moved.why === "stale") d.dispatch.announce(endpoint);
	}
	const why = failure?.reason ?? (received.restart ? "it asked to be restarted" : undefined);
	if (why !== undefined) d.workers.launcher.retire(worker, why);
}

export function reportDropped(
	{ events }: JobDeps,
	{ worker, id }: { worker: Worker; id: string },
	why: "missing" | "state" | "stale",
): void {
	events.emit("report.dropped", { endpoint: worker.endpoint, id, worker: worker.id, why });
}
