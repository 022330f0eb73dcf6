/**
 * Hands queued jobs to long-polling workers. Each endpoint has a lane: its parked polls, and an
 * estimate of the queued jobs that no claim covers yet. A new job wakes one parked poll, whose claim
 * shares the commit of the insert (D17). The estimate may be too high (an empty claim costs little),
 * and is too low at most until `checkAll`.
 */
import { sizeOf } from "../../core/json/json-text.ts";
import type { Claim, Claimed } from "../../store/contract/jobs.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { EngineContext } from "../context.ts";

/** Inputs of one response together, characters; jobs beyond it stay queued for the next take. */
const MAX_INPUT_CHARACTERS = 32 * 1024 * 1024;

interface Poll {
	worker: Worker;
	limit: number;
	/** Its last claim found only jobs that are fenced from its worker. */
	fenced: boolean;
	/** It ended without jobs while its claim was in progress. */
	ended: boolean;
	resolve: (jobs: Claimed[]) => void;
	reject: (error: unknown) => void;
}

interface Lane {
	parked: Poll[];
	/** Queued jobs that no claim in progress covers. */
	waiting: number;
	/** There may be more than `waiting`: full claims are repeated until one finds the queue empty. */
	unsure: boolean;
}

export interface Dispatch {
	/** Jobs were queued. */
	announce(endpoint: string, jobs?: number): void;
	/** Resolves with jobs for this worker, or with none when the poll has ended. */
	take(q: { worker: Worker; limit: number; ended: Promise<unknown> }): Promise<Claimed[]>;
	/** Claims for every lane with parked polls, whatever its estimate: hints may have been lost. */
	checkAll(): void;
	/** Requeues jobs whose response did not reach the worker. */
	requeue(worker: Worker, jobs: readonly { id: string; attempt: number }[]): Promise<void>;
	/** Parked polls of this endpoint. */
	parked(endpoint: string): number;
	/** The endpoint was deleted. */
	forget(endpoint: string): void;
	/** Ends dispatching: no job is handed out any more (D34). */
	close(): void;
	readonly closed: boolean;
}

interface Deps extends Pick<EngineContext, "now" | "events" | "store" | "background"> {
	paused: (endpoint: string) => boolean;
	/** Puts jobs back at the front of the queue; returns the ids of those that wait again. */
	requeue: (worker: Worker, jobs: readonly { id: string; attempt: number }[]) => Promise<string[]>;
}

export function createDispatch(d: Deps): Dispatch {
	const lanes = new Map<string, Lane>();
	let closed = false;

	function laneOf(endpoint: string): Lane {
		let lane = lanes.get(endpoint);
		// What waits from before this server's start is unknown: the first claim finds out.
		if (!lane) lanes.set(endpoint, (lane = { parked: [], waiting: 1, unsure: true }));
		return lane;
	}

	function expectMore(lane: Lane): void {
		lane.unsure = true;
		lane.waiting = Math.max(lane.waiting, 1);
	}

	function claimForParked(endpoint: string, lane: Lane): void {
		if (closed || d.paused(endpoint)) return;
		for (let at = 0; lane.waiting > 0 && at < lane.parked.length; ) {
			const poll = lane.parked[at]!;
			if (poll.fenced || poll.worker.draining) {
				at += 1;
				continue;
			}
			lane.parked.splice(at, 1);
			lane.waiting = Math.max(0, lane.waiting - poll.limit);
			claim(endpoint, lane, poll);
		}
	}

	function claim(endpoint: string, lane: Lane, poll: Poll): void {
		const { worker, limit } = poll;
		d.store.jobs.claim({ endpoint, worker: worker.id, limit, maxBytes: MAX_INPUT_CHARACTERS, now: d.now() }).then(
			(found) => claimed(endpoint, lane, poll, found),
			(error: unknown) => {
				expectMore(lane);
				if (!(error instanceof StoreUnavailable) || error.why === "closed") return poll.reject(error);
				// The poll stays parked until the next check of all lanes, or its end.
				if (poll.ended) poll.resolve([]);
				else lane.parked.unshift(poll);
			},
		);
	}

	function claimed(endpoint: string, lane: Lane, poll: Poll, { jobs, fenced }: Claim): void {
		const { worker } = poll;
		const cut = jobs.reduce((sum, { input }) => sum + sizeOf(input ?? ""), 0) > MAX_INPUT_CHARACTERS / 2;
		if (fenced || cut || (lane.unsure && jobs.length === poll.limit)) expectMore(lane);
		else if (jobs.length < poll.limit) lane.unsure = false;
		// Only the store knows what other servers handed to it.
		if (fenced) worker.knownIdle = false;
		if (jobs.length === 0) {
			if (poll.ended) return poll.resolve([]);
			poll.fenced = fenced;
			// Re-insert at the front so that an empty claim keeps its position.
			lane.parked.unshift(poll);
			return claimForParked(endpoint, lane);
		}
		if (poll.ended) {
			poll.resolve([]);
			const undelivered = jobs.map(({ job }) => job);
			return d.background.run("requeueing jobs", requeue(worker, undelivered));
		}
		for (const { job } of jobs) start(worker, job);
		poll.resolve(jobs);
		claimForParked(endpoint, lane);
	}

	function start(worker: Worker, job: Claimed["job"]): void {
		worker.held.set(job.id, {
			attempt: job.attempt,
			handedAt: job.startedAt!,
			...(job.lowPriority && { lowPriority: true }),
		});
		d.events.emit("job.started", {
			endpoint: worker.endpoint,
			id: job.id,
			worker: worker.id,
			attempt: job.attempt,
			waitedMs: job.startedAt! - job.queuedAt,
		});
	}

	function announce(endpoint: string, jobs = 1): void {
		const lane = laneOf(endpoint);
		lane.waiting += jobs;
		for (const poll of lane.parked) poll.fenced = false;
		claimForParked(endpoint, lane);
	}

	async function requeue(worker: Worker, jobs: readonly { id: string; attempt: number }[]): Promise<void> {
		const { endpoint } = worker;
		const requeued = await d.requeue(worker, jobs);
		for (const id of requeued) d.events.emit("job.returned", { endpoint, id, worker: worker.id, why: "released" });
		if (requeued.length > 0) announce(endpoint, requeued.length);
	}

	return {
		announce,
		take({ worker, limit, ended }) {
			const lane = laneOf(worker.endpoint);
			return new Promise<Claimed[]>((resolve, reject) => {
				const poll: Poll = { worker, limit, fenced: false, ended: false, resolve, reject };
				lane.parked.push(poll);
				claimForParked(worker.endpoint, lane);
				void ended.then(() => {
					poll.ended = true;
					const at = lane.parked.indexOf(poll);
					if (at < 0) return;
					lane.parked.splice(at, 1);
					resolve([]);
				});
			});
		},
		checkAll() {
			for (const [endpoint, lane] of lanes) {
				if (lane.parked.length === 0) continue;
				for (const poll of lane.parked) poll.fenced = false;
				expectMore(lane);
				claimForParked(endpoint, lane);
			}
		},
		requeue,
		parked: (endpoint) => lanes.get(endpoint)?.parked.length ?? 0,
		forget: (endpoint) => void lanes.delete(endpoint),
		close() {
			closed = true;
		},
		get closed() {
			return closed;
		},
	};
}
