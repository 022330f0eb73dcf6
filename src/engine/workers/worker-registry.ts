/**
 * The workers that call this server or that it launched: the jobs they hold, what they must stop,
 * their open polls. In memory; rebuilt from the store and from the workers' calls after a start.
 */
import { RotatingMap, RotatingSet } from "../../core/rotating-map.ts";
import type { EpochMs } from "../../core/time.ts";
import type { KnownEnding } from "../../core/workers/ended-worker.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { EventBus } from "../../events.ts";
import { isManaged } from "../../launchers/index.ts";

/** A job that a worker holds. */
export interface HeldJob {
	attempt: number;
	handedAt: EpochMs;
	/** It does not count for scaling (D20). */
	lowPriority?: boolean;
	/** Our response to its last chunk may not have arrived: an equal one is a repeat (D7). */
	unsure?: boolean;
	/** Number of its next chunk post, for workers that number them. */
	nextPost?: number;
	/** The last of them, perhaps in progress. */
	post?: Promise<unknown>;
}

/** One worker as this server knows it. */
export interface Worker {
	readonly id: string;
	readonly endpoint: string;
	/** Type of the launcher that started it; `external` for others. */
	readonly launcher: string;
	/** Sluice starts and stops it. */
	readonly managed: boolean;
	readonly createdAt: EpochMs;
	/** Since when its start may take `initTimeoutMs`: its creation, or the end of its wait. */
	startingSince: EpochMs;
	/** What its platform says, until it says that it runs. */
	notice?: WorkerReason & { state: "waiting" | "ending" };
	/** What its launcher was last notified of. */
	reportedBusy: boolean;
	seenAt: EpochMs;
	/** It has called: before, it is initializing. */
	ready: boolean;
	/** When it first called. */
	readyAt?: EpochMs;
	pinged: boolean;
	/** It reported so, or only its ping process is left; until it asks for a job again. */
	unhealthy: boolean;
	/** It gets no more jobs (D28). */
	draining: boolean;
	/** Why it is stopped once it holds no job (D28). */
	retiring?: string;
	/** Why it is ending. */
	ending?: KnownEnding;
	/** The machine that it runs on, where that is known. */
	host?: string | undefined;
	/** Variables that it was started with, some of them secret. */
	env?: Readonly<Record<string, string>>;
	/** A stop of it failed: its platform did not respond. */
	unstopped?: { why: string; at: EpochMs } | undefined;
	/** Hash of what it was launched with (see `worker-spec.ts`). */
	launchedAs?: string;
	/** GPUs of the machine that are assigned to it. */
	gpus: readonly number[];
	/** Version of its SDK, from its pings. */
	version?: string;
	/** When it last became idle. */
	idleSince: EpochMs;
	/** Jobs handed to it and not reported. */
	readonly held: RotatingMap<string, HeldJob>;
	/** Jobs that it must stop, of earlier attempts or cancelled. */
	readonly stopping: Map<string, { since: EpochMs; failed: boolean; sentAt?: EpochMs }>;
	/**
	 * The store has nothing open for it beside `held`: while that is empty, a ping or take without jobs
	 * need not ask it. False after any sign of a job that another server handed to it.
	 */
	knownIdle: boolean;
	/** Its open polls for jobs, and for jobs to stop. */
	takes: number;
	stops: number;
	/** Maximum time that one of its polls was held and then answered, ms (see `liveness.ts`). */
	longestPollMs: number;
	/** When it cut a poll before that time; until its next poll. */
	leftAt?: EpochMs | undefined;
	/** Its pings since then. */
	pingsAlone: number;
	/** When its last poll ended. */
	pollEndedAt?: EpochMs;
	/** Each ends one of its open polls with 204. */
	readonly polls: RotatingSet<() => void>;
	/** Each wakes one of its open polls for jobs to stop. */
	readonly wakeStops: RotatingSet<() => void>;
}

/** A worker id belongs to its endpoint: a host that serves two under one id is two workers. */
export interface WorkerRegistry {
	/** The worker, added if it is new. */
	meet(q: {
		id: string;
		endpoint: string;
		launcher?: string;
		ready: boolean;
		pinged?: boolean;
		gpus?: readonly number[];
		now: EpochMs;
	}): Worker;
	/** It called. */
	seen(worker: Worker, now: EpochMs): void;
	get(q: { endpoint: string; id: string }): Worker | undefined;
	forget(worker: Worker): void;
	of(endpoint: string): Iterable<Worker>;
	all(): Iterable<Worker>;
}

export function workerRegistry(events: EventBus): WorkerRegistry {
	const byEndpoint = new Map<string, Map<string, Worker>>();
	/** The same workers, for frequent iteration. */
	const everyWorker = new Set<Worker>();
	return {
		meet({ id, endpoint, launcher = "external", ready, pinged = false, gpus = [], now }) {
			const ofEndpoint = byEndpoint.get(endpoint) ?? new Map<string, Worker>();
			const existing = ofEndpoint.get(id);
			if (existing) return existing;
			const worker: Worker = {
				id,
				endpoint,
				launcher,
				managed: isManaged(launcher),
				createdAt: now,
				startingSince: now,
				reportedBusy: false,
				seenAt: now,
				ready,
				pinged,
				unhealthy: false,
				draining: false,
				gpus,
				idleSince: now,
				knownIdle: false,
				held: new RotatingMap(),
				stopping: new Map(),
				takes: 0,
				stops: 0,
				longestPollMs: 0,
				pingsAlone: 0,
				polls: new RotatingSet(),
				wakeStops: new RotatingSet(),
				...(ready && { readyAt: now }),
			};
			byEndpoint.set(endpoint, ofEndpoint.set(id, worker));
			everyWorker.add(worker);
			if (ready) events.emit("worker.ready", { endpoint, worker: id });
			return worker;
		},
		seen(worker, now) {
			worker.seenAt = now;
			if (worker.ready) return;
			worker.ready = true;
			if (worker.notice?.state === "waiting") delete worker.notice;
			worker.readyAt = worker.idleSince = now;
			events.emit("worker.ready", { endpoint: worker.endpoint, worker: worker.id });
		},
		get: ({ endpoint, id }) => byEndpoint.get(endpoint)?.get(id),
		forget({ endpoint, id }) {
			const ofEndpoint = byEndpoint.get(endpoint);
			const worker = ofEndpoint?.get(id);
			if (!ofEndpoint || !worker) return;
			everyWorker.delete(worker);
			ofEndpoint.delete(id);
			if (ofEndpoint.size === 0) byEndpoint.delete(endpoint);
		},
		of: (endpoint) => byEndpoint.get(endpoint)?.values() ?? [],
		all: () => everyWorker.values(),
	};
}

/** Ends the open polls of a worker with 204. */
export function endPolls(worker: Worker): void {
	for (const end of worker.polls) end();
}

/** The worker does not hold the job any more. */
export function releaseJob(worker: Worker, id: string, now: EpochMs): void {
	if (worker.held.delete(id) && worker.held.size === 0) worker.idleSince = now;
}

/**
 * Does what {@link releaseJob} does, unless the worker was handed the same job again since `before`: a claim of
 * the same commit is answered first.
 */
export function releaseJobById(worker: Worker, id: string, q: { before: HeldJob | undefined; now: EpochMs }): void {
	if (worker.held.get(id) === q.before) releaseJob(worker, id, q.now);
}
