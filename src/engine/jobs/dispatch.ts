/**
 * Waiting workers meet queued jobs. Each endpoint has a lane: workers parked in it, and an estimate
 * of jobs that no claim has covered yet. News of a job wakes one parked worker, whose claim shares
 * the commit of the insert (D17). The estimate may be too high (an empty claim costs little), never
 * too low for longer than the safety look.
 */
import { sizeOf } from "../../core/json/json-text.ts";
import type { Claim, Claimed, JobStore } from "../../store/contract/jobs.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { EventBus } from "../../events.ts";
import type { Worker } from "../workers/worker-registry.ts";
import { releaseJob } from "../workers/worker-registry.ts";

/** Inputs of one hand-out together, characters; more jobs than fit stay for the next take. */
const HANDOUT_CHARACTERS = 32 * 1024 * 1024;

interface Parked {
	worker: Worker;
	limit: number;
	/** Its last claim found only jobs fenced from it; waits for other news. */
	fenced: boolean;
	/** The poll ended without jobs while its claim was under way. */
	left: boolean;
	resolve: (jobs: Claimed[]) => void;
	reject: (error: unknown) => void;
}

interface Lane {
	parked: Parked[];
	/** Jobs that wait and that no claim under way covers, as far as known. */
	waiting: number;
	/**
	 * There may be more than `waiting`: a full claim is followed by another until one finds the queue
	 * empty.
	 */
	unsure: boolean;
}

/** Brings jobs to workers. */
export interface Dispatch {
	/** Jobs may wait on this endpoint: hands them to parked workers. */
	announce(endpoint: string, jobs?: number): void;
	/**
	 * Waits until jobs are handed to this worker, or `ms` passed or the signal aborted: then none.
	 */
	take(q: { worker: Worker; limit: number; left: Promise<unknown> }): Promise<Claimed[]>;
	/** Looks at every lane with parked workers, whatever the estimate says: hints may be lost. */
	look(): void;
	/** Whether a worker is parked on this endpoint. */
	parked(endpoint: string): number;
	/** The endpoint is no more: nothing is remembered of its queue. */
	forget(endpoint: string): void;
}

/** Dispatch over a store. `release` gives claimed jobs back whose worker has left meanwhile. */
export function dispatch(d: {
	jobs: JobStore;
	now: () => number;
	events: EventBus;
	paused: (endpoint: string) => boolean;
	release: (worker: Worker, jobs: readonly Claimed[]) => void;
}): Dispatch {
	const lanes = new Map<string, Lane>();

	function laneOf(endpoint: string): Lane {
		let lane = lanes.get(endpoint);
		// What waits from before this server's start is unknown: the first claim finds out.
		if (!lane) lanes.set(endpoint, (lane = { parked: [], waiting: 1, unsure: true }));
		return lane;
	}

	function doubt(lane: Lane): void {
		lane.unsure = true;
		lane.waiting = Math.max(lane.waiting, 1);
	}

	function pump(endpoint: string, lane: Lane): void {
		if (d.paused(endpoint)) return;
		for (let at = 0; lane.waiting > 0 && at < lane.parked.length; ) {
			const parked = lane.parked[at]!;
			if (parked.fenced || parked.worker.draining) {
				at += 1;
				continue;
			}
			lane.parked.splice(at, 1);
			lane.waiting = Math.max(0, lane.waiting - parked.limit);
			claim(endpoint, lane, parked);
		}
	}

	function claim(endpoint: string, lane: Lane, parked: Parked): void {
		const { worker, limit } = parked;
		d.jobs
			.claim({ endpoint, worker: worker.id, limit, maxBytes: HANDOUT_CHARACTERS, now: d.now() })
			.then(
				(found) => claimed(endpoint, lane, parked, found),
				(error: unknown) => {
					doubt(lane);
					if (!(error instanceof StoreUnavailable) || error.why === "closed")
						return parked.reject(error);
					// The poll stays, until the next look at all lanes or its end.
					if (parked.left) parked.resolve([]);
					else lane.parked.unshift(parked);
				},
			);
	}

	function claimed(endpoint: string, lane: Lane, parked: Parked, { jobs, fenced }: Claim): void {
		const { worker } = parked;
		const cut = jobs.reduce((sum, { input }) => sum + sizeOf(input), 0) > HANDOUT_CHARACTERS / 2;
		if (fenced || cut || (lane.unsure && jobs.length === parked.limit)) doubt(lane);
		else if (jobs.length < parked.limit) lane.unsure = false;
		// Only the store knows what other servers handed to it.
		if (fenced) worker.knownIdle = false;
		if (jobs.length === 0) {
			if (parked.left) return parked.resolve([]);
			parked.fenced = fenced;
			// Back to its old place: an empty claim must not cost it its turn.
			lane.parked.unshift(parked);
			return pump(endpoint, lane);
		}
		if (parked.left) {
			parked.resolve([]);
			return d.release(worker, jobs);
		}
		for (const { job } of jobs) {
			worker.held.set(job.id, {
				attempt: job.attempt,
				handedAt: job.startedAt!,
				...(job.lowPriority && { lowPriority: true }),
			});
			d.events.emit("job.started", {
				endpoint,
				id: job.id,
				worker: worker.id,
				attempt: job.attempt,
				waitedMs: job.startedAt! - job.queuedAt,
			});
		}
		parked.resolve(jobs);
		pump(endpoint, lane);
	}

	return {
		announce(endpoint, jobs = 1) {
			const lane = laneOf(endpoint);
			lane.waiting += jobs;
			for (const parked of lane.parked) parked.fenced = false;
			pump(endpoint, lane);
		},
		take({ worker, limit, left }) {
			const lane = laneOf(worker.endpoint);
			return new Promise<Claimed[]>((resolve, reject) => {
				const parked: Parked = { worker, limit, fenced: false, left: false, resolve, reject };
				lane.parked.push(parked);
				pump(worker.endpoint, lane);
				void left.then(() => {
					parked.left = true;
					const at = lane.parked.indexOf(parked);
					if (at < 0) return;
					lane.parked.splice(at, 1);
					resolve([]);
				});
			});
		},
		look() {
			for (const [endpoint, lane] of lanes) {
				if (lane.parked.length === 0) continue;
				for (const parked of lane.parked) parked.fenced = false;
				doubt(lane);
				pump(endpoint, lane);
			}
		},
		parked: (endpoint) => lanes.get(endpoint)?.parked.length ?? 0,
		forget: (endpoint) => void lanes.delete(endpoint),
	};
}

/**
 * Gives jobs back that never reached their worker: no loss, and nothing can be running there (D16).
 * Answers those that wait again.
 */
export async function requeueUndelivered(
	d: { move: JobStore["move"]; now: () => number },
	worker: Worker,
	jobs: readonly { id: string; attempt: number }[],
): Promise<string[]> {
	const now = d.now();
	const back: string[] = [];
	// From the last to the first: each goes to the front, so that their order stays.
	const moves = jobs.toReversed().map(async ({ id, attempt }) => {
		releaseJob(worker, id, now);
		const moved = await d.move({
			endpoint: worker.endpoint,
			id,
			on: "release",
			attempt,
			over: true,
			now,
		});
		if (moved.ok) back.push(id);
	});
	await Promise.all(moves).catch((error: unknown) => {
		// The lease will end by itself and bring them back.
		if (!(error instanceof StoreUnavailable)) throw error;
	});
	return back;
}
