/**
 * Hands queued jobs to long-polling workers. Each endpoint has a lane of parked polls with an estimate of its queued
 * jobs. A new job wakes one parked poll, whose claim shares the commit of the insert (D17).
 */
import { sizeOf } from "../../../lib/json/json-text.ts";
import type { Claim, Claimed, JobStore } from "../../../store/contract/jobs.ts";
import { StoreUnavailable } from "../../../store/contract/store.ts";
import { forgetClaims, type HeldJob, releaseJob, type StoreClaim, type Worker } from "../../workers/worker-registry.ts";
import type { EngineContext } from "../../context.ts";
import type { EpochMs } from "../../../lib/time.ts";

/** Maximum characters of the inputs in one response; further jobs stay queued for the next take. */
const MAX_INPUT_CHARACTERS = 32 * 1024 * 1024;

interface Poll {
	worker: Worker;
	limit: number;
	/** The poll's last claim found only jobs that are fenced from its worker. */
	fenced: boolean;
	/** The poll ended while its claim was in progress. */
	ended: boolean;
	resolve: (jobs: Claimed[]) => void;
	reject: (error: unknown) => void;
}

/** Limits how many jobs of an endpoint a worker may take; set only while a canary of the endpoint runs (D50). */
export interface Share {
	/** How many jobs the worker may take now. */
	mostFor: (worker: Worker) => number;
	/** Called when a worker has got a job. */
	started: (worker: Worker) => void;
}

interface Lane {
	parked: Poll[];
	/**
	 * Estimated number of queued jobs that no claim in progress covers. If too high, a claim finds nothing; if too low,
	 * `checkAll` corrects it.
	 */
	waiting: number;
	/** More jobs than `waiting` may be queued: full claims are repeated until one finds the queue empty. */
	unsure: boolean;
	share?: Share | undefined;
}

/** A claim of a poll, which is not parked meanwhile. */
interface ParkedClaim {
	endpoint: string;
	lane: Lane;
	poll: Poll;
	/** At most that of the poll; a share may lower it. */
	limit: number;
}

export interface Undelivered {
	id: string;
	attempt: number;
}

interface Deps extends Pick<EngineContext, "now" | "events" | "store" | "background"> {
	paused: (endpoint: string) => boolean;
	/** Version of the release that launched the worker. */
	releaseOf: (worker: Worker) => number | undefined;
	requeue: (worker: Worker, jobs: readonly Undelivered[]) => Promise<string[]>;
}

export class Dispatch {
	private readonly d: Deps;
	private readonly lanes = new Map<string, Lane>();
	/** Set at the stop: no job is sent to workers any more (D34). */
	closed = false;

	constructor(d: Deps) {
		this.d = d;
	}

	announce(endpoint: string, jobs = 1): void {
		const lane = this.laneOf(endpoint);
		lane.waiting += jobs;
		for (const poll of lane.parked) poll.fenced = false;
		this.claimForParked(endpoint, lane);
	}

	take({ worker, limit, ended }: { worker: Worker; limit: number; ended: Promise<unknown> }): Promise<Claimed[]> {
		const lane = this.laneOf(worker.endpoint);
		return new Promise<Claimed[]>((resolve, reject) => {
			const poll: Poll = { worker, limit, fenced: false, ended: false, resolve, reject };
			lane.parked.push(poll);
			this.claimForParked(worker.endpoint, lane);
			void ended.then(() => {
				poll.ended = true;
				const at = lane.parked.indexOf(poll);
				if (at < 0) return;
				lane.parked.splice(at, 1);
				resolve([]);
			});
		});
	}

	/** Sets or removes the share and offers waiting jobs again. */
	readonly setShare = (endpoint: string, share: Share | undefined): void => {
		const lane = share ? this.laneOf(endpoint) : this.lanes.get(endpoint);
		if (!lane) return;
		lane.share = share;
		this.claimForParked(endpoint, lane);
	};

	/** Claims for all lanes regardless of their estimates, because signals may have been lost. */
	readonly checkAll = (): void => {
		for (const [endpoint, lane] of this.lanes) {
			if (lane.parked.length === 0) continue;
			for (const poll of lane.parked) poll.fenced = false;
			expectMore(lane);
			this.claimForParked(endpoint, lane);
		}
	};

	readonly requeue = async (worker: Worker, jobs: readonly Undelivered[]): Promise<void> => {
		const { endpoint } = worker;
		const requeued = await this.d.requeue(worker, jobs);
		for (const id of requeued) this.d.events.emit("job.returned", { endpoint, id, worker: worker.id, why: "released" });
		if (requeued.length > 0) this.announce(endpoint, requeued.length);
	};

	parked(endpoint: string): number {
		return this.lanes.get(endpoint)?.parked.length ?? 0;
	}

	forget(endpoint: string): void {
		this.lanes.delete(endpoint);
	}

	private laneOf(endpoint: string): Lane {
		let lane = this.lanes.get(endpoint);
		// The number of jobs queued before this server's start is unknown until the first claim.
		if (!lane) this.lanes.set(endpoint, (lane = { parked: [], waiting: 1, unsure: true }));
		return lane;
	}

	private claimForParked(endpoint: string, lane: Lane): void {
		if (this.closed || this.d.paused(endpoint)) return;
		for (let at = 0; lane.waiting > 0 && at < lane.parked.length; ) {
			const poll = lane.parked[at]!;
			const isOut = poll.fenced || poll.worker.draining || poll.worker.sleep;
			const limit = isOut ? 0 : limitOf(poll, lane);
			if (limit === 0) {
				at += 1;
				continue;
			}
			lane.parked.splice(at, 1);
			lane.waiting = Math.max(0, lane.waiting - limit);
			this.claim({ endpoint, lane, poll, limit });
		}
	}

	private claim(c: ParkedClaim): void {
		const { endpoint, lane, poll, limit } = c;
		const { store, now } = this.d;
		const { worker } = poll;
		const claim: StoreClaim = { since: now() };
		worker.claims.add(claim);
		const release = this.d.releaseOf(worker);
		const q = { endpoint, worker: worker.id, release, limit, maxBytes: MAX_INPUT_CHARACTERS, now: claim.since };
		store.jobs.claim(q).then(
			(found) => {
				claim.answeredAt = now();
				forgetClaims(worker, claim.answeredAt);
				this.claimed(c, found);
			},
			(error: unknown) => {
				worker.claims.delete(claim);
				expectMore(lane);
				if (!(error instanceof StoreUnavailable) || error.why === "closed") return poll.reject(error);
				// The poll stays parked until the next check of all lanes, or its end.
				if (poll.ended) poll.resolve([]);
				else lane.parked.unshift(poll);
			},
		);
	}

	private claimed({ endpoint, lane, poll, limit }: ParkedClaim, { jobs, fenced }: Claim): void {
		const { worker } = poll;
		const cut = jobs.reduce((sum, { input }) => sum + sizeOf(input ?? ""), 0) > MAX_INPUT_CHARACTERS / 2;
		if (fenced || cut || (lane.unsure && jobs.length === limit)) expectMore(lane);
		else if (jobs.length < limit) lane.unsure = false;
		// Only the store knows what other servers handed to it.
		if (fenced) worker.knownIdle = false;
		if (jobs.length === 0) {
			if (poll.ended) return poll.resolve([]);
			poll.fenced = fenced;
			// At the front, so that an empty claim keeps its position.
			lane.parked.unshift(poll);
			return this.claimForParked(endpoint, lane);
		}
		if (poll.ended) {
			poll.resolve([]);
			const undelivered = jobs.map(({ job }) => job);
			return this.d.background.run("requeueing jobs", this.requeue(worker, undelivered));
		}
		for (const { job } of jobs) {
			this.start(worker, job);
			lane.share?.started(worker);
		}
		poll.resolve(jobs);
		this.claimForParked(endpoint, lane);
	}

	private start(worker: Worker, { id, attempt, lowPriority, queuedAt, startedAt, release }: Claimed["job"]): void {
		const held: HeldJob = { attempt, handedAt: startedAt! };
		if (lowPriority) held.lowPriority = true;
		worker.held.set(id, held);
		const waitedMs = startedAt! - queuedAt;
		this.d.events.emit("job.started", { endpoint: worker.endpoint, id, worker: worker.id, release, attempt, waitedMs });
	}
}

/** Maximum number of jobs that a claim of this poll may take now. */
function limitOf({ worker, limit }: Poll, { share, parked }: Lane): number {
	if (!share) return limit;
	// While another parked worker is fenced from the waiting jobs, this one may take one beyond its share.
	return Math.min(limit, share.mostFor(worker) || Number(parked.some(({ fenced }) => fenced)));
}

function expectMore(lane: Lane): void {
	lane.unsure = true;
	lane.waiting = Math.max(lane.waiting, 1);
}

/**
 * Returns jobs that never reached their worker to the front of the queue. They cannot be running, so no loss is counted
 * (D16). Returns the ids of those that wait again.
 */
export async function requeueUndelivered(
	d: { move: JobStore["move"]; now: () => EpochMs },
	worker: Worker,
	jobs: readonly Undelivered[],
): Promise<string[]> {
	const now = d.now();
	const requeued: string[] = [];
	// From the last to the first, because each goes to the front.
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
		if (moved.ok) requeued.push(id);
	});
	await Promise.all(moves).catch((error: unknown) => {
		// If the store is unavailable, the end of their leases requeues them.
		if (!(error instanceof StoreUnavailable)) throw error;
	});
	return requeued;
}
