/** A worker's progress, result or failure (D16, D19), persisted before it is acknowledged (D17). */
import { share, sizeOf } from "../../../lib/json/json-text.ts";
import type { JobReturn } from "../../../core/jobs/job-return.ts";
import { type Report, returnText, startFailureIn } from "../../../core/jobs/report.ts";
import { executionTime } from "../../../core/jobs/job-view.ts";
import { isJobId, warmupId } from "../../../core/jobs/job.ts";
import { isManaged } from "../../../launchers/index.ts";
import { shownText } from "../../workers/launch/shown-text.ts";
import { type HeldJob, releaseJobById, type Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { onQueued, onSettled } from "../signals.ts";
import { markUnhealthy } from "./ping.ts";
import { warmupReported } from "./warmup.ts";

const RESTART = "it asked to be restarted";

/**
 * Handles a report. It is never refused: a report on a job that another worker holds, or that has ended, changes
 * nothing (D16 Fence).
 */
export async function report(
	d: JobDeps,
	q: { worker: Worker; id: string; report: Report; signal?: AbortSignal | undefined },
): Promise<void> {
	const { worker, id, report: received } = q;
	const { endpoint } = worker;
	if (id === warmupId(worker.id)) return warmupReported(d, worker, received);
	if (!isJobId(id)) return reportDropped(d, q, "missing");
	const before = worker.held.get(id);
	const by = { worker: worker.id, release: d.endpoints.releaseOf(endpoint, worker.launchedAs) };
	if (received.kind === "progress") {
		if (before) before.began = true;
		const { value } = received;
		const kept = await d.retry(() => d.store.jobs.progress({ endpoint, id, ...by, value, now: d.now() }), {
			bytes: sizeOf(value),
			signal: q.signal,
		});
		if (kept) d.events.emit("job.progressed", { endpoint, id });
		else reportDropped(d, q, "stale");
		return;
	}
	if (received.kind === "return") return await giveBack(d, { ...q, report: received, by });
	const failure = startFailure({ worker, held: before, received });
	const { output, error } = failure ? {} : received;
	const { attempt } = before ?? {};
	const outcome = failure
		? { on: "release" as const, attempt, workerEnd: failure.reason }
		: { on: received.on, output, error };
	const moved = await d.retry(
		() =>
			d.store.jobs.report({
				endpoint,
				id,
				...by,
				outcome,
				now: d.now(),
			}),
		{ bytes: sizeOf(output ?? "") + sizeOf(error ?? ""), signal: q.signal },
	);
	releaseJobById(worker, id, { before, now: d.now() });
	d.workers.stopSignals.over(worker, id);
	if (!failure) worker.hasSettled = worker.hasReported = true;
	if (moved.ok && failure) {
		d.events.emit("job.returned", { endpoint, id, worker: worker.id, why: "released" });
		if (!(failure.isStop && d.workers.launcher.isLeaving(worker))) markUnhealthy(d, worker, failure.reason);
		// Retired before the search for another worker, so that the search does not find this one.
		d.workers.launcher.retire(worker, failure.reason);
		d.dispatch.announce(endpoint);
	} else if (moved.ok) {
		const { job } = moved;
		if (moved.late) d.events.emit("job.late", { endpoint, id, worker: worker.id });
		const ranMs = executionTime(job, job.endedAt!);
		d.events.emit("job.settled", { endpoint, id, state: job.state, ranMs, worker: worker.id, release: job.release });
		d.hooks.traces?.ended(job);
		const readers = d.waiters.jobEnded({ job, output, error });
		if (output !== undefined) share(output, readers);
	} else {
		reportDropped(d, q, moved.why);
		// This report ends the old attempt: the job may be dispatched to this worker again.
		if (moved.why === "stale") d.dispatch.announce(endpoint);
	}
	if (received.restart) d.workers.launcher.retire(worker, RESTART);
}

/** The worker returns the job to the queue (D54). */
async function giveBack(
	d: JobDeps,
	q: {
		worker: Worker;
		id: string;
		report: JobReturn;
		by: { worker: string; release: number | undefined };
		signal?: AbortSignal | undefined;
	},
): Promise<void> {
	const { worker, id, report: received, by } = q;
	const { endpoint } = worker;
	const { attempt } = received;
	const before = worker.held.get(id);
	const workerEnd = shownReason(d, worker, received.reason);
	const outcome = { on: received.loss ? "lose" : "return", attempt, workerEnd } as const;
	const moved = await d.retry(() => d.store.jobs.report({ endpoint, id, ...by, outcome, now: d.now() }), {
		bytes: workerEnd.length,
		signal: q.signal,
	});
	// A return of an earlier attempt says nothing of the one that the worker has now, or is to stop.
	const last = before?.attempt ?? worker.stopping.get(id)?.attempt;
	const isCurrent = moved.ok || attempt === undefined || last === undefined || attempt === last;
	if (isCurrent) {
		releaseJobById(worker, id, { before, now: d.now() });
		d.workers.stopSignals.over(worker, id);
	}
	// Before the search for another worker, so that the search does not find this one.
	if (received.restart) d.workers.launcher.retire(worker, RESTART);
	if (!moved.ok) {
		reportDropped(d, q, moved.why);
		if (moved.why === "stale") d.dispatch.announce(endpoint);
		return;
	}
	const { state, release } = moved.job;
	if (state !== "IN_QUEUE") return onSettled(d, { endpoint, id, state, release });
	onQueued(d, { endpoint, id, from: { worker: worker.id, why: moved.lost ? "lost" : "released" } });
}

/**
 * Returns a reason as it may be shown. A worker that the service launched may name values that it was started with, and
 * where servers share a launcher, only the one that launched it knows these. Others know nothing to hide.
 */
function shownReason({ endpoints }: JobDeps, worker: Worker, reason: string): string {
	const { managed, endpoint } = worker;
	const isLaunched = managed || (endpoints.has(endpoint) && isManaged(endpoints.get(endpoint).launcher.type));
	return returnText(reason, (text) => (isLaunched ? shownText(worker, text) : text));
}

/**
 * Returns the failed start that an error reports. It is accepted only from a launched worker that has settled no job,
 * for an attempt without chunks or progress, since an error may contain text of a client (protocol B.5).
 */
function startFailure(q: { worker: Worker; held: HeldJob | undefined; received: Extract<Report, { kind: "end" }> }) {
	const { worker, held, received } = q;
	const canStart = worker.managed && !worker.hasSettled && held !== undefined && !held.began;
	if (received.on !== "fail" || !canStart) return undefined;
	return startFailureIn(received.error, (text) => shownText(worker, text));
}

export function reportDropped(
	{ events }: JobDeps,
	{ worker, id }: { worker: Worker; id: string },
	why: "missing" | "state" | "stale",
): void {
	events.emit("report.dropped", { endpoint: worker.endpoint, id, worker: worker.id, why });
}
