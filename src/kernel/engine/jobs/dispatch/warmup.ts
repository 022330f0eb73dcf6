/**
 * The warm-up of a launched worker: a job that it runs before it counts as ready (D28). It is not stored, and only the
 * server that started the worker knows whether it has ended.
 */
import { warmupId } from "../../../core/jobs/job.ts";
import { errorText, type Report, returnText } from "../../../core/jobs/report.ts";
import { shownText } from "../../workers/launch/shown-text.ts";
import { endPolls, type Worker } from "../../workers/worker-registry.ts";
import { completeWarmup, recordWarmupSent } from "../../workers/worker-transitions.ts";
import type { JobDeps } from "../job-deps.ts";

const AGAIN = "it asked to be restarted, so that it would never take a job. Leave refresh_worker or the warm-up out";

/** Returns the warm-up for a take; again if the worker is `idle`, since it was lost then. Undefined while it runs. */
export function takeWarmup(d: JobDeps, worker: Worker, { idle }: { idle: boolean }) {
	const { id, endpoint, warmup } = worker;
	if (!warmup || (warmup.sent && !idle)) return undefined;
	// A worker that always loses it must not fill the log.
	if (!warmup.sent) d.events.emit("worker.warming", { endpoint, worker: id });
	recordWarmupSent(worker, warmup);
	return { id: warmupId(id), attempt: 0, input: warmup.input };
}

/**
 * Handles a report on a warm-up; one that is no progress ends it. A worker that was taken over in the meantime is ready
 * already.
 */
export function warmupReported(d: JobDeps, worker: Worker, report: Report): void {
	if (report.kind === "progress" || !worker.managed || d.workers.launcher.isLeaving(worker)) return;
	const { id, endpoint } = worker;
	const why = failureOf(report, (text) => shownText(worker, text));
	if (why !== undefined)
		return d.events.emit("warmup.failed", { endpoint, worker: id, reason: `its warm-up failed: ${why}` });
	if (!worker.warmup) return;
	completeWarmup(worker);
	worker.hasSettled = true;
	d.workers.registry.seen(worker, d.now());
	// A worker that takes several jobs at once has another poll open.
	endPolls(worker);
}

/** Why a report that ends a warm-up is no success; undefined if it is one. */
function failureOf(report: Exclude<Report, { kind: "progress" }>, hide: (text: string) => string): string | undefined {
	// No other worker may run it.
	if (report.kind === "return") return returnText(report.reason, hide);
	if (report.on === "fail") return errorText(report.error ?? "", hide);
	return report.restart ? AGAIN : undefined;
}
