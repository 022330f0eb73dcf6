/** Jobs: what clients, operators and workers do with them, one file for each operation. */
import type { Operation } from "../../core/job.ts";
import { jobId } from "../../ids.ts";
import { exitPhrase } from "../../core/workers/ended-worker.ts";
import type { Service } from "../../service.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { bulk } from "./bulk.ts";
import { abandon, cancel } from "./cancel.ts";
import { addChunks } from "./chunks.ts";
import { createDispatch } from "./dispatch.ts";
import { catchUpOnJobs, onQueued, onSettled } from "./hints.ts";
import { jobDetails } from "./job-details.ts";
import type { JobDeps, JobName } from "./job-deps.ts";
import { list } from "./list.ts";
import { follow, type Follower } from "./live-chunks.ts";
import { ping } from "./ping.ts";
import { renewPolledLeases } from "./polled-leases.ts";
import { notifyPurged, purge } from "./purge.ts";
import { reconcileDead } from "./reconcile-attempts.ts";
import { report } from "./report.ts";
import { requeueUndelivered } from "./requeue.ts";
import { retry } from "./retry.ts";
import { retain, status, statusSync } from "./status.ts";
import { streamFrom, streamNext } from "./stream.ts";
import { submit, submitAndWait } from "./submit.ts";
import { sweep } from "./sweep.ts";
import { take } from "./take.ts";
import { completionWaiters } from "./wait.ts";
import { workerEnded } from "./worker-ended.ts";

/** An operation without its dependencies. */
type Bound<F> = F extends (d: never, ...q: infer Q) => infer A ? (...q: Q) => A : never;

/** What callers can do; each is described in its file. */
export interface Jobs {
	newId(operation: Operation): string;
	/** Returns the id: that of an earlier job for a repeat under one idempotency key (D14). */
	submit(...q: Parameters<Bound<typeof submit>>): Promise<string>;
	submitAndWait: Bound<typeof submitAndWait>;
	status: Bound<typeof status>;
	retain: Bound<typeof retain>;
	statusSync: Bound<typeof statusSync>;
	streamNext: Bound<typeof streamNext>;
	streamFrom: Bound<typeof streamFrom>;
	/** Follows a job for {@link Jobs.streamFrom}; to be closed. */
	follow(q: JobName): Follower;
	cancel: Bound<typeof cancel>;
	/** Cancels, in the background, a job whose only caller has disconnected (D32). */
	abandon(q: JobName): void;
	retry: Bound<typeof retry>;
	purge: Bound<typeof purge>;
	list: Bound<typeof list>;
	bulk: Bound<typeof bulk>;
	details: Bound<typeof jobDetails>;
	take: Bound<typeof take>;
	/** Requeues jobs whose response did not reach the worker. */
	requeueUndelivered: JobDeps["dispatch"]["requeue"];
	report: Bound<typeof report>;
	addChunks: Bound<typeof addChunks>;
	ping: Bound<typeof ping>;
	workerEnded: Bound<typeof workerEnded>;
}

/** With what `lifecycle/` uses. */
export interface JobDomain extends Jobs {
	onQueued: Bound<typeof onQueued>;
	onSettled: Bound<typeof onSettled>;
	onPurged(endpoint: string): void;
	onChunks(id: string): void;
	/** Hints may have been lost; `store`: where servers share it. */
	catchUp(store?: ClusterStore): Promise<void>;
	/** Ends all waits and dispatches no job any more (D34). */
	close(): void;
	services: readonly Service[];
}

export function createJobs(
	context: Omit<JobDeps, "dispatch" | "waiters"> & { endpoints: Pick<Endpoints, "paused"> },
): JobDomain {
	const { events, store, now, random, background, workers } = context;
	const move: typeof store.jobs.move = (q) => context.retry(() => store.jobs.move(q), { signal: background.stopped });
	const dispatch = createDispatch({
		...context,
		paused: (endpoint) => context.space.isScarce() || context.endpoints.paused(endpoint),
		requeue: (worker, jobs) => requeueUndelivered({ move, now }, worker, jobs),
	});
	const waiters = completionWaiters(context.clock);
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
	events.on("endpoint.deleted", ({ endpoint }) => dispatch.forget(endpoint));

	return {
		newId: (operation) => jobId(operation, now(), random),
		submit: async (q) => (await submit(d, q)).id,
		submitAndWait: (q, wait) => submitAndWait(d, q, wait),
		status: (q) => status(d, q),
		retain: (q) => retain(d, q),
		statusSync: (q) => statusSync(d, q),
		streamNext: (q) => streamNext(d, q),
		streamFrom: (q) => streamFrom(d, q),
		follow: (q) => follow(waiters, q),
		cancel: (q) => cancel(d, q),
		abandon: (q) => background.run(`cancelling job ${q.id}`, abandon(d, q)),
		retry: (q) => retry(d, q),
		purge: (endpoint) => purge(d, endpoint),
		list: (q) => list(d, q),
		bulk: (q) => bulk(d, q),
		details: (q) => jobDetails(d, q),
		take: (q) => take(d, q),
		requeueUndelivered: dispatch.requeue,
		report: (q) => report(d, q),
		addChunks: (q) => addChunks(d, q),
		ping: (q) => ping(d, q),
		workerEnded: (q) => workerEnded(d, q),
		onQueued: (q) => onQueued(d, q),
		onSettled: (q) => onSettled(d, q),
		onPurged: (endpoint) => background.run("notifying callers of a purge", notifyPurged(d, endpoint)),
		onChunks: (id) => waiters.notify(id),
		catchUp: (cluster) => catchUpOnJobs(d, cluster),
		close() {
			dispatch.close();
			waiters.cancelAll();
		},
		services: [sweeper, renewPolledLeases(d)],
	};
}
