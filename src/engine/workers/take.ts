/**
 * A worker asks for jobs (protocol B.2, B.3): held until there are some, the hold is over, or
 * the worker leaves.
 */
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/errors.ts";
import type { EventBus } from "../../events.ts";
import type { Claimed } from "../../store/contract/jobs.ts";
import type { WorkerStore } from "../../store/contract/workers.ts";
import type { Dispatch } from "../jobs/dispatch.ts";
import type { RetryWhileUnavailable } from "../availability/retry-while-unavailable.ts";
import { pollBegun } from "./liveness.ts";
import type { ReconcileDeps } from "./reconcile-attempts.ts";
import { reconcileAttempts } from "./reconcile-attempts.ts";
import type { StopSignals } from "./stop-signals.ts";
import type { Worker } from "./worker-registry.ts";
import { releaseJob } from "./worker-registry.ts";

/**
 * How long an empty poll is held, ms: under the 90 s after which workers hang up, and few requests
 * a minute (D26).
 */
export const POLL_HOLD_MS = 50_000;

interface Deps extends ReconcileDeps {
	clock: Clock;
	events: EventBus;
	hold: RetryWhileUnavailable;
	dispatch: Dispatch;
	workerStore: WorkerStore;
	stopping: StopSignals;
	/**
	 * The service stops: nobody gets a job any more, not even a worker that it has not heard of
	 * before (D34).
	 */
	draining: () => boolean;
}

/** Why a poll's timer is cut; told so that no exception object is made for it. */
const ENDED = "ended";

/**
 * Resolves when a poll must end without an answer of its own: time over, worker gone, or sent home.
 */
function pollEnd(
	d: { clock: Clock },
	worker: Worker,
	signal: AbortSignal,
): { left: Promise<void>; done: () => void } {
	const end = new AbortController();
	const leave = (): void => end.abort(ENDED);
	worker.polls.add(leave);
	signal.addEventListener("abort", leave, { once: true });
	if (signal.aborted) leave();
	const left = d.clock.sleep(POLL_HOLD_MS, end.signal);
	return {
		left,
		done() {
			worker.polls.delete(leave);
			signal.removeEventListener("abort", leave);
			leave();
		},
	};
}

/**
 * Up to `limit` jobs; none after the hold. `idle`: the worker says it runs nothing, which proves
 * jobs handed out before lost (D16).
 */
export async function take(
	d: Deps,
	q: { worker: Worker; limit: number; idle: boolean; signal: AbortSignal },
): Promise<Claimed[]> {
	const { worker } = q;
	const began = d.now();
	if (worker.takes > 0) {
		d.events.emit("worker.duplicate", { endpoint: worker.endpoint, worker: worker.id });
		throw new ApiError("duplicate_worker_id", { worker: worker.id });
	}
	const sentHome = (): boolean => worker.draining || d.draining();
	if (sentHome()) throw new ApiError("draining");
	worker.takes += 1;
	// Who asks for a job is fit for one.
	worker.unhealthy = false;
	const over = pollBegun(worker, d.now);
	try {
		if (q.idle) await nothingRuns(d, worker, began, q.signal);
		// What runs there was not handed out here.
		else if (worker.held.size === 0) worker.knownIdle = false;
		// Polls were ended while the store was asked: this one is over, too.
		if (sentHome()) return [];
		const { left, done } = pollEnd(d, worker, q.signal);
		try {
			return await d.dispatch.take({ worker, limit: q.limit, left });
		} finally {
			done();
		}
	} finally {
		worker.takes -= 1;
		over(q.signal.aborted);
	}
}

async function nothingRuns(
	d: Deps,
	worker: Worker,
	began: number,
	signal: AbortSignal,
): Promise<void> {
	for (const id of [...worker.stopping.keys()]) d.stopping.over(worker, id);
	if (worker.held.size === 0 && worker.knownIdle) return;
	await reconcileAttempts(d, worker, () =>
		d.hold(
			() =>
				d.workerStore.idle({
					endpoint: worker.endpoint,
					worker: worker.id,
					before: began,
					now: d.now(),
				}),
			{ signal },
		),
	);
	// What it has reported to other servers.
	for (const [id, { handedAt }] of worker.held)
		if (handedAt < began) releaseJob(worker, id, d.now());
	worker.knownIdle = true;
}

/** Ids of jobs the worker must stop; none after the hold. */
export async function stopPoll(
	d: Deps,
	q: { worker: Worker; signal: AbortSignal },
): Promise<string[]> {
	const { worker } = q;
	const { left, done } = pollEnd(d, worker, q.signal);
	worker.stops += 1;
	const over = pollBegun(worker, d.now);
	try {
		return await d.stopping.poll(worker, left);
	} finally {
		worker.stops -= 1;
		over(q.signal.aborted);
		done();
	}
}
