import { jobId, type Operation } from "../../core/jobs/job.ts";
import { exitPhrase } from "../../core/workers/ended-worker.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { bulk, list } from "./bulk.ts";
import { abandon, cancel, notifyPurged, purge } from "./cancel.ts";
import { addChunks } from "./stream/chunks.ts";
import { Dispatch, requeueUndelivered } from "./dispatch/dispatch.ts";
import { jobDetails } from "./job-details.ts";
import type { JobDeps, JobName } from "./job-deps.ts";
import { follow, type Follower } from "./stream/live-chunks.ts";
import { ping } from "./dispatch/ping.ts";
import { renewPolledLeases } from "./dispatch/polled-leases.ts";
import { workerEnded, workerExited } from "./dispatch/reconcile-attempts.ts";
import { report } from "./dispatch/report.ts";
import { retry } from "./retry.ts";
import { retain, status, statusSync } from "./status.ts";
import { streamFrom, streamNext } from "./stream/stream.ts";
import { submit, submitAndWait, type SubmitRequest } from "./submit.ts";
import { sweep } from "./sweep.ts";
import { take } from "./dispatch/take.ts";
import { CompletionWaiters } from "./wait.ts";
import type { JobState } from "../../core/jobs/job-states.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";

export type JobDomain = ReturnType<typeof createJobs>;

export type Jobs = Omit<
	JobDomain,
	"onQueued" | "onSettled" | "onPurged" | "onChunks" | "catchUp" | "close" | "services"
>;

export function createJobs(
	context: Omit<JobDeps, "dispatch" | "waiters"> & { endpoints: Pick<Endpoints, "paused" | "releaseOf"> },
) {
	const { events, store, now, random, background, workers } = context;
	const move: typeof store.jobs.move = (q) => context.retry(() => store.jobs.move(q), { signal: background.stopped });
	const dispatch = new Dispatch({
		...context,
		paused: (endpoint) => context.space.isScarce() || context.endpoints.paused(endpoint),
		releaseOf: ({ endpoint, launchedAs }) => context.endpoints.releaseOf(endpoint, launchedAs),
		requeue: (worker, jobs) => requeueUndelivered({ move, now }, worker, jobs),
	});
	const waiters = new CompletionWaiters(context.clock);
	const d: JobDeps = { ...context, dispatch, waiters };
	const sweeper = sweep(d);

	events.on("worker.exited", ({ endpoint, worker: id, ...exit }) => {
		const worker = workers.registry.get({ endpoint, id });
		const how = { workerEnd: exitPhrase(exit), signal: background.stopped };
		if (worker) background.run(`jobs of worker ${id}`, workerExited(d, worker, how));
	});
	for (const event of ["endpoints.changed", "endpoint.resumed", "store.back", "disk.enough"] as const)
		events.on(event, dispatch.checkAll);
	for (const event of ["lease.taken", "server.joined", "server.left", "store.back"] as const)
		events.on(event, sweeper.nudge);
	events.on("worker.woken", ({ endpoint }) => dispatch.announce(endpoint));
	events.on("endpoint.deleted", ({ endpoint }) => dispatch.forget(endpoint));

	const bound =
		<Q extends unknown[], A>(operation: (d: JobDeps, ...q: Q) => A) =>
		(...q: Q): A =>
			operation(d, ...q);

	return {
		newId: (operation: Operation): string => jobId(operation, now(), random),
		/** Returns the id of an earlier job for a repeat under one idempotency key (D14). */
		submit: async (q: SubmitRequest): Promise<string> => (await submit(d, q)).id,
		submitAndWait: bound(submitAndWait),
		status: bound(status),
		retain: bound(retain),
		statusSync: bound(statusSync),
		streamNext: bound(streamNext),
		streamFrom: bound(streamFrom),
		/** Must be closed. */
		follow: (q: JobName): Follower => follow(waiters, q),
		cancel: bound(cancel),
		/** Runs in the background (D32). */
		abandon: (q: JobName): void => background.run(`cancelling job ${q.id}`, abandon(d, q)),
		retry: bound(retry),
		purge: bound(purge),
		list: bound(list),
		bulk: bound(bulk),
		details: bound(jobDetails),
		take: bound(take),
		requeueUndelivered: dispatch.requeue,
		report: bound(report),
		addChunks: bound(addChunks),
		ping: bound(ping),
		workerEnded: bound(workerEnded),
		onQueued: bound(onQueued),
		onSettled: bound(onSettled),
		onPurged: (endpoint: string): void => background.run("notifying callers of a purge", notifyPurged(d, endpoint)),
		onChunks: (id: string): void => waiters.notify(id),
		catchUp: bound(catchUpOnJobs),
		/** Ends all waits and dispatches no job any more (D34). */
		close(): void {
			dispatch.closed = true;
			waiters.cancelAll();
		},
		services: [sweeper, renewPolledLeases(d)],
	};
}

const PAGE = 1000;

/** `lostBy` had held the job. */
function onQueued(d: JobDeps, q: JobName & { lostBy: string | undefined }): void {
	const { endpoint, id, lostBy } = q;
	if (lostBy !== undefined) d.events.emit("job.returned", { endpoint, id, worker: lostBy, why: "lost" });
	d.waiters.notify(id);
	d.dispatch.announce(endpoint);
}

/** A job ended without a report through this server. */
function onSettled(
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

/** Reads what lost hints would have announced. */
async function catchUpOnJobs(d: JobDeps, cluster?: ClusterStore): Promise<void> {
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
