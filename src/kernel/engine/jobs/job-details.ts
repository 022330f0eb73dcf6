/** One job as operators see it (D29, D39). */
import { ApiError } from "../../core/errors.ts";
import { type AttemptDetails, attemptsOf, MOST_AHEAD, type Reason, waitReason } from "../../core/jobs/timeline.ts";
import { isJobId, type Job } from "../../core/jobs/job.ts";
import type { EndedWorker } from "../../core/workers/ended-worker.ts";
import { reasonText } from "../../core/workers/worker-reason.ts";
import { isManaged } from "../../launchers/index.ts";
import type { JobRecord } from "../../store/contract/jobs.ts";
import { isSleeping, isStarting } from "../workers/worker-registry.ts";
import type { WorkerView } from "../workers/worker-views.ts";
import type { JobDeps, JobName } from "./job-deps.ts";

export interface JobDetails extends Omit<JobRecord, "attempts"> {
	attempts: AttemptDetails[];
	/** Why the job waits; only while it does. `worker`: the last worker that crashed. */
	reason?: Reason & { retryAt?: number | undefined; worker?: EndedWorker | undefined };
}

/** A worker that starts again after a crash may crash again. */
const AFTER_CRASHES: ReadonlySet<Reason["code"]> = new Set(["workers_crashing", "worker_starting"]);

/** Maximum length of a queue in which the jobs before this one are counted. */
const SHORT_QUEUE = 1000;

/** Returns the details of a job, also of an erased one. Throws `job_not_found`. */
export async function jobDetails(d: JobDeps, q: JobName): Promise<JobDetails> {
	const found = isJobId(q.id) ? await d.store.jobs.record({ ...q, now: d.now() }) : undefined;
	if (!found) throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
	const attempts = attemptsOf(found.job, found.attempts);
	if (found.job.state !== "IN_QUEUE") return { ...found, attempts };

	const { endpoint, paused } = d.endpoints.entry(q.endpoint);
	const views = d.workers.allViews;
	const usable = (await views.of(q.endpoint)).filter(
		(worker) => !worker.draining && !worker.unhealthy && !isSleeping(worker),
	);
	const ids = (fits: (worker: WorkerView) => boolean): string[] => usable.filter(fits).map(({ id }) => id);
	const starting = usable.find(isStarting);
	const reason = waitReason({
		endpoint: endpoint.id,
		paused,
		external: !isManaged(endpoint.launcher.type),
		workersMax: endpoint.workersMax,
		idle: ids((worker) => !isStarting(worker) && worker.jobs.length === 0),
		busy: ids((worker) => worker.ready && worker.jobs.length > 0),
		starting: ids(isStarting),
		startingSince: starting?.sleep?.since ?? starting?.createdAt,
		fenced: attempts.filter(({ open }) => open).map(({ worker }) => worker),
		...views.heldBack(q.endpoint),
		waiting: usable
			.filter(({ notice }) => notice?.state === "waiting")
			.flatMap(({ notice }) => (notice ? [reasonText(notice)] : []))[0],
		isWarming: usable.some(({ notice }) => notice?.state === "warming"),
		onlyLowPriority:
			found.job.lowPriority && (await d.store.jobs.waiting({ endpoint: q.endpoint, now: d.now() })).jobs === 0,
		ahead: await aheadOf(d, found.job),
	});
	const { crashing, crashCode = "crashed", retryAt } = views.heldBack(q.endpoint);
	const isCrash = crashing !== undefined && AFTER_CRASHES.has(reason.code);
	if (!isCrash) return { ...found, attempts, reason };
	const [worker] = await d.workers.ended(q.endpoint, 1);
	return {
		...found,
		attempts,
		reason: {
			...reason,
			...(retryAt !== undefined && retryAt > d.now() && { retryAt }),
			worker: worker?.code === crashCode ? worker : undefined,
		},
	};
}

/** Returns the number of waiting jobs that were submitted before, at most one more than {@link MOST_AHEAD}. */
async function aheadOf(d: JobDeps, { endpoint, submittedAt }: Job): Promise<number | undefined> {
	const { inQueue } = await d.store.jobs.counts({ endpoint, now: d.now() });
	if (inQueue <= 1 || inQueue > SHORT_QUEUE) return undefined;
	const filter = { states: ["IN_QUEUE"], to: submittedAt } as const;
	const page = await d.store.jobs.list({ endpoint, filter, erased: false, limit: MOST_AHEAD + 1, now: d.now() });
	return page.jobs.length;
}
