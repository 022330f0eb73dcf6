/**
 * Applies signals of the store about jobs. Signals may be lost, so {@link catchUpOnJobs} reads the store for all that
 * wait: every 4 s where servers share it (`lifecycle/catch-up.ts`).
 */
import type { JobState } from "../../core/jobs/job-states.ts";
import { pinglessText } from "../../core/workers/pingless.ts";
import type { Events } from "../../events.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import type { JobDeps, JobName } from "./job-deps.ts";

const PAGE = 1000;

/**
 * A job is queued. `from`: the worker that had held it, and how that ended. `silent`: a worker whose lease ended, at
 * any server, so that it may still run the job.
 */
export function onQueued(
	d: JobDeps,
	q: JobName & { from?: Pick<Events["job.returned"], "worker" | "why"> | undefined; silent?: string | undefined },
): void {
	const { endpoint, id, from, silent } = q;
	if (from) d.events.emit("job.returned", { endpoint, id, ...from });
	if (silent !== undefined) warnIfPingless(d, { endpoint, id: silent });
	d.waiters.notify(id);
	d.dispatch.announce(endpoint);
}

/** Logs once that a worker of this server has never pinged and its lease ended (D16 Lease). */
function warnIfPingless(d: JobDeps, q: { endpoint: string; id: string }): void {
	const worker = d.workers.registry.get(q);
	if (!worker || worker.pingless || d.workers.allViews.pings(worker)) return;
	worker.pingless = true;
	const warning = pinglessText(d.endpoints.get(q.endpoint).leaseMs);
	d.events.emit("worker.warned", { endpoint: q.endpoint, worker: q.id, warning });
}

/** A job ended by something other than a report to this server (another server, a deadline). */
export function onSettled(
	d: JobDeps,
	q: JobName & { state: JobState; release?: number | undefined; elsewhere?: true | undefined },
): void {
	const { endpoint, id, state, release, elsewhere } = q;
	d.events.emit("job.settled", { endpoint, id, state, release, ...(elsewhere && { elsewhere }) });
	d.waiters.notify(id);
	if (d.waiters.isAwaited(id)) d.background.run("notifying callers", notifyCompletion(d, { endpoint, id }));
}

async function notifyCompletion(d: JobDeps, { endpoint, id }: JobName): Promise<void> {
	const found = await d.store.jobs.get({ endpoint, id, now: d.now(), large: "size" });
	if (!found) d.waiters.jobRemoved(id);
	else if (found.job.endedAt !== undefined) d.waiters.jobEnded(found);
}

/** Reads the changes that lost signals would have announced. */
export async function catchUpOnJobs(d: JobDeps, cluster?: ClusterStore): Promise<void> {
	d.waiters.notifyAll();
	const awaited = d.waiters.awaitedJobs();
	for (let from = 0; from < awaited.length; from += PAGE) {
		const jobs = awaited.slice(from, from + PAGE);
		const ended = cluster ? await cluster.over({ jobs }) : jobs;
		await Promise.all(ended.map((job) => notifyCompletion(d, job)));
	}
	await d.workers.stopSignals.recall();
	d.dispatch.checkAll();
}
