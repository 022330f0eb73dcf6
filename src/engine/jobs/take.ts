/** A worker asks for jobs (protocol B.2, B.3): held until there are some, or the poll ends. */
import { ApiError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/time.ts";
import { countPoll, holdPoll } from "../workers/polls.ts";
import { releaseJob, type Worker } from "../workers/worker-registry.ts";
import { type DispatchedJob, readClaimed } from "./read-claimed.ts";
import type { JobDeps } from "./job-deps.ts";
import { reconcileAttempts } from "./reconcile-attempts.ts";
import { report } from "./report.ts";

type Deps = Pick<
	JobDeps,
	"access" | "clock" | "now" | "events" | "store" | "retry" | "dispatch" | "waiters" | "workers" | "cluster"
>;

/**
 * Up to `limit` jobs; none when the poll ended. `idle`: the worker reports that it runs nothing,
 * which proves that jobs handed out before were lost (D16). Throws `duplicate_worker_id` and, while
 * the worker or the service drains, `draining`.
 */
export async function take(
	d: Deps,
	q: { worker: Worker; limit: number; idle: boolean; signal: AbortSignal },
): Promise<DispatchedJob[]> {
	const { worker } = q;
	const began = d.now();
	if (worker.takes > 0) {
		d.events.emit("worker.duplicate", { endpoint: worker.endpoint, worker: worker.id });
		throw new ApiError("duplicate_worker_id", { worker: worker.id });
	}
	const isDraining = (): boolean => worker.draining || d.dispatch.closed;
	if (isDraining()) throw new ApiError("draining");
	const over = countPoll(worker, "takes", { now: d.now, signal: q.signal });
	// A worker that asks for a job is fit for one.
	worker.unhealthy = false;
	try {
		if (q.idle) await nothingRuns(d, worker, began, q.signal);
		// What it runs was not handed out here.
		else if (worker.held.size === 0) worker.knownIdle = false;
		// Polls were ended while the store was asked: this one too.
		if (isDraining()) return [];
		const { ended, done } = holdPoll(d.clock, worker, q.signal);
		try {
			const claimed = await d.dispatch.take({ worker, limit: q.limit, ended });
			const { jobs, unreadable } = readClaimed(claimed, d.access.encryption);
			for (const { id, error, damage } of unreadable) {
				if (damage !== undefined) d.events.emit("fault", { where: `reading the input of job ${id}`, error: damage });
				await report(d, { worker, id, report: { kind: "end", on: "fail", error, restart: false } });
			}
			return jobs;
		} finally {
			done();
		}
	} finally {
		over();
	}
}

async function nothingRuns(d: Deps, worker: Worker, began: EpochMs, signal: AbortSignal): Promise<void> {
	for (const id of [...worker.stopping.keys()]) d.workers.stopSignals.over(worker, id);
	if (worker.held.size === 0 && worker.knownIdle) return;
	const { endpoint, id } = worker;
	await reconcileAttempts(d, worker, () =>
		d.retry(() => d.store.workers.idle({ endpoint, worker: id, before: began, now: d.now() }), {
			signal,
		}),
	);
	// Jobs that it has reported to other servers.
	for (const [job, { handedAt }] of worker.held) if (handedAt < began) releaseJob(worker, job, d.now());
	worker.knownIdle = true;
}
