/**
 * The workers this server has heard of: what they hold, what they must stop, which polls they hold
 * open. In memory; rebuilt from the store at start and from what workers say.
 */
import { RotatingMap, RotatingSet } from "../../core/rotating-map.ts";
import type { EventBus } from "../../events.ts";

/** A job in a worker's hands. */
export interface HeldJob {
	attempt: number;
	handedAt: number;
	/** It counts for no scaling (D20). */
	lowPriority?: boolean;
	/** Our answer to its last chunk may not have arrived: an equal one is a repeat (D7). */
	unsure?: boolean;
	/** Number of its next chunk post, for workers that number them. */
	nextPost?: number;
}

/** One worker as this server sees it. Times in ms since the epoch. */
export interface Worker {
	readonly id: string;
	readonly endpoint: string;
	/** Name of the launcher that started it; `external` for others. */
	readonly launcher: string;
	readonly createdAt: number;
	seenAt: number;
	/** It has called at least once: before, it is initializing (protocol B.7). */
	ready: boolean;
	/** When it first called. */
	readyAt?: number;
	pinged: boolean;
	/** It said so in a ping, or its main process is gone; until it asks for a job again. */
	unhealthy: boolean;
	/** It gets no more jobs (D28). */
	draining: boolean;
	/** Why it is stopped once it holds no job (D28). */
	retiring?: string;
	/** What it was launched with (see `worker-spec.ts`). */
	launchedAs?: string;
	/** GPUs of the machine that are its own. */
	gpus: readonly number[];
	/** Version of its SDK, as its pings tell it. */
	version?: string;
	/** When it last became idle. */
	idleSince: number;
	/** Jobs handed to it and not reported. */
	readonly held: RotatingMap<string, HeldJob>;
	/** Jobs of earlier attempts or cancelled ones that it may still run. */
	readonly stopping: Map<string, { since: number; toldAt?: number }>;
	/**
	 * The store has nothing open for it beside `held`: while nothing is held, a ping or a take with
	 * nothing in progress need not ask. Ends with any sign of work that another server handed to it.
	 */
	knownIdle: boolean;
	/** Its open polls. */
	takes: number;
	stops: number;
	/**
	 * Longest time for which one of its polls was held and then answered, ms: what lies between lets
	 * connections live so long.
	 */
	longestPollMs: number;
	/**
	 * When it cut a poll before the time that such polls can last; until its next poll (see
	 * `liveness.ts`).
	 */
	leftAt?: number | undefined;
	/** Ends its open polls with 204. */
	readonly polls: RotatingSet<() => void>;
	/** Something new to stop: wakes its stop channel. */
	readonly wakeStops: RotatingSet<() => void>;
}

/**
 * All workers known here. An id belongs to its endpoint: a host that serves two under one name is
 * two workers.
 */
export interface WorkerRegistry {
	/** The worker, made known if it is new. */
	meet(q: {
		id: string;
		endpoint: string;
		launcher?: string;
		ready: boolean;
		pinged?: boolean;
		gpus?: readonly number[];
		now: number;
	}): Worker;
	/** A call came from it. */
	seen(worker: Worker, now: number): void;
	get(q: { endpoint: string; id: string }): Worker | undefined;
	forget(worker: Worker): void;
	of(endpoint: string): Iterable<Worker>;
	all(): Iterable<Worker>;
}

/** No worker known yet. */
export function workerRegistry(events: EventBus): WorkerRegistry {
	/** By endpoint, then by id. */
	const known = new Map<string, Map<string, Worker>>();
	/** The same, to be walked through again and again. */
	const everyone = new Set<Worker>();
	return {
		meet({ id, endpoint, launcher = "external", ready, pinged = false, gpus = [], now }) {
			const there = known.get(endpoint) ?? new Map<string, Worker>();
			const old = there.get(id);
			if (old) return old;
			const worker: Worker = {
				id,
				endpoint,
				launcher,
				createdAt: now,
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
				polls: new RotatingSet(),
				wakeStops: new RotatingSet(),
				...(ready && { readyAt: now }),
			};
			known.set(endpoint, there.set(id, worker));
			everyone.add(worker);
			if (ready) events.emit("worker.ready", { endpoint, worker: id });
			return worker;
		},
		seen(worker, now) {
			worker.seenAt = now;
			if (worker.ready) return;
			worker.ready = true;
			worker.readyAt = worker.idleSince = now;
			events.emit("worker.ready", { endpoint: worker.endpoint, worker: worker.id });
		},
		get: ({ endpoint, id }) => known.get(endpoint)?.get(id),
		forget({ endpoint, id }) {
			const there = known.get(endpoint);
			const worker = there?.get(id);
			if (!there || !worker) return;
			everyone.delete(worker);
			there.delete(id);
			if (there.size === 0) known.delete(endpoint);
		},
		of: (endpoint) => known.get(endpoint)?.values() ?? [],
		all: () => everyone.values(),
	};
}

/** A job left its hands. */
export function releaseJob(worker: Worker, id: string, now: number): void {
	if (worker.held.delete(id) && worker.held.size === 0) worker.idleSince = now;
}

/**
 * As {@link releaseJob}, for what was in its hands as `before` says: the claims of a commit are answered
 * first, so that it may have the same job anew.
 */
export function releaseJobById(
	worker: Worker,
	id: string,
	q: { before: HeldJob | undefined; now: number },
): void {
	if (worker.held.get(id) === q.before) releaseJob(worker, id, q.now);
}
