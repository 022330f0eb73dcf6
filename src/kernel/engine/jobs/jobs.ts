import { jobId, type Operation } from "../../core/jobs/job.ts";
import { exitPhrase } from "../../core/workers/ended-worker.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { bulk, list } from "./bulk.ts";
import { abandon, cancel, notifyPurged, purge } from "./cancel.ts";
import { addChunks } from "./stream/chunks.ts";
import { Dispatch, requeueUndelivered } from "./dispatch/dispatch.ts";
import { catchUpOnJobs, onQueued, onSettled } from "./signals.ts";
import { jobDetails } from "./job-details.ts";
import type { JobDeps, JobName } from "./job-deps.ts";
import { follow, type Follower } from "./stream/live-chunks.ts";
import { arrivingPost } from "./dispatch/arriving-post.ts";
import { ping } from "./dispatch/ping.ts";
import { renewPolledLeases } from "./dispatch/polled-leases.ts";
import { reconcileDead, workerEnded } from "./dispatch/reconcile-attempts.ts";
import { report } from "./dispatch/report.ts";
import { retry } from "./retry.ts";
import { retain, status, statusSync } from "./status.ts";
import { streamFrom, streamNext } from "./stream/stream.ts";
import { submit, submitAndWait, type SubmitRequest } from "./submit.ts";
import { sweep } from "./sweep.ts";
import { take } from "./dispatch/take.ts";
import { CompletionWaiters } from "./wait.ts";

export type JobDomain = ReturnType<typeof createJobs>;

export type Jobs = Omit<
	JobDomain,
	"onQueued" | "onSettled" | "onPurged" | "onChunks" | "catchUp" | "close" | "services"
>;

export function createJobs(
	context: Omit<JobDeps, "dispatch" | "waiters"> & {
		endpoints: Pick<Endpoints, "paused">;
	},
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
		if (worker) background.run(`jobs of worker ${id}`, reconcileDead(d, worker, how));
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
		/** Follows a job. The follower must be closed. */
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
		setShare: dispatch.setShare,
		report: bound(report),
		addChunks: bound(addChunks),
		ping: bound(ping),
		arrivingPost: bound(arrivingPost),
		workerEnded: bound(workerEnded),
		onQueued: bound(onQueued),
		onSettled: bound(onSettled),
		onPurged: (endpoint: string): void => background.run("notifying callers of a purge", notifyPurged(d, endpoint)),
		onChunks: (id: string): void => waiters.notify(id),
		catchUp: bound(catchUpOnJobs),
		/** Ends all waits and stops dispatching jobs (D34). */
		close(): void {
			dispatch.closed = true;
			waiters.cancelAll();
		},
		services: [sweeper, renewPolledLeases(d)],
	};
}
