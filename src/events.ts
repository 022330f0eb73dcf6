/**
 * What the service announces about itself: one typed map. The log, metrics and tests listen; the
 * engine contains no log calls. Never carries a payload or a secret.
 */
import type { JobState } from "./core/job-states.ts";

/** Each event with its facts. */
export interface Events {
	/** The service accepts requests at this address. */
	"service.listening": { url: string };
	/** A stop was asked for; open work is being brought to an end (D34). */
	"service.draining": { drainMs: number };
	/** Time passed in which the service did not run: every lease was extended (D16 Outages). */
	"service.away": { ms: number };
	/** Another server that shares the store lives. */
	"server.joined": { server: string; url: string };
	/** It left, or gives no signs of life any more. */
	"server.left": { server: string; url: string };
	/**
	 * This server does from now on what one of several does for all: a role, or `scale:` and the
	 * endpoint whose workers it starts.
	 */
	"lease.taken": { name: string };
	/** Another server does it, or is to. */
	"lease.lost": { name: string };
	/** A job is on disk and waits; `again` when it was queued by a retry. */
	"job.queued": { endpoint: string; id: string; again?: true };
	/** Jobs of the endpoint are queued, not handed out (D29). */
	"endpoint.paused": { endpoint: string };
	/** They are handed out again. */
	"endpoint.resumed": { endpoint: string };
	/** The endpoint is unknown from now on; what is left of it is being ended (D39). */
	"endpoint.removed": { endpoint: string };
	/** The waiting jobs of an endpoint were removed (D11). */
	"queue.purged": { endpoint: string; removed: number };
	/** A job was handed to a worker, after it had waited for `waitedMs`. */
	"job.started": {
		endpoint: string;
		id: string;
		worker: string;
		attempt: number;
		waitedMs: number;
	};
	/**
	 * A job reached its final state; `ranMs` where its worker told the end. `elsewhere`: another
	 * server that shares the store brought it there, and announces it too.
	 */
	"job.settled": {
		endpoint: string;
		id: string;
		state: JobState;
		ranMs?: number;
		elsewhere?: true;
	};
	/** A job went back to the front of the queue. */
	"job.returned": { endpoint: string; id: string; worker: string; why: "lost" | "released" };
	/** A report or chunk changed nothing, because the worker does not hold the job (D16 Fence). */
	"report.dropped": {
		endpoint: string;
		id: string;
		worker: string;
		why: "missing" | "state" | "stale";
	};
	/** A worker process was started by a launcher. */
	"worker.launched": { endpoint: string; worker: string };
	/** A worker of an earlier run of the service was taken over (D34). */
	"worker.adopted": { endpoint: string; worker: string };
	/** A worker called for the first time. */
	"worker.ready": { endpoint: string; worker: string };
	/** A worker reported itself unfit. */
	"worker.unhealthy": { endpoint: string; worker: string; reason: string };
	/** Something is known against the version of a worker's SDK; told once for each worker. */
	"worker.warned": { endpoint: string; worker: string; warning: string };
	/** A launched worker is being ended. */
	"worker.stopping": { endpoint: string; worker: string; why: string };
	/** A launched worker's process ended. */
	"worker.exited": {
		endpoint: string;
		worker: string;
		code: number | undefined;
		signal: string | undefined;
		lastOutput: string;
	};
	/** A worker could not be started; the next try comes after `retryMs`. */
	"worker.failed": { endpoint: string; reason: string; retryMs: number };
	/** Two processes poll under one worker id; the later one was refused (D26). */
	"worker.duplicate": { endpoint: string; worker: string };
	/** A worker was told to stop a run (D18). */
	"stop.sent": { endpoint: string; id: string; worker: string };
	/**
	 * The grace was over and the run could not be ended: the worker is not ours or runs other jobs
	 * (D18).
	 */
	"stop.unconfirmed": { endpoint: string; id: string; worker: string };
	/**
	 * A receiver took a webhook with 200 (D21). Only its host is told: path and query may hold
	 * secrets.
	 */
	"webhook.delivered": { endpoint: string; id: string; delivery: string; host: string };
	/** A try of a webhook failed; the next one comes after `retryMs`, or none (D21). */
	"webhook.failed": {
		endpoint: string;
		id: string;
		delivery: string;
		host: string;
		reason: string;
		retryMs: number | undefined;
	};
	/** The store cannot be written. */
	"store.away": { why: string };
	/**
	 * The store is away and so many bytes of workers' posts are held for it that no more are taken;
	 * told once for each time (D40).
	 */
	"posts.refused": { heldBytes: number };
	/** The store can be written again. */
	"store.back": Record<never, never>;
	/** An answer was an error of 500 or more. */
	"request.failed": {
		method: string;
		path: string;
		status: number;
		reference: string;
		error: unknown;
	};
	/** Work in the background failed and is tried again. */
	fault: { where: string; error: unknown };
}

export type EventName = keyof Events;
type Listener<N extends EventName> = (facts: Events[N]) => void;

/** Announces and listens. */
export interface EventBus {
	emit<N extends EventName>(name: N, facts: Events[N]): void;
	/** Calls the listener for each such event; the answer removes it. */
	on<N extends EventName>(name: N, listener: Listener<N>): () => void;
	/** Calls the listener for every event; the answer removes it. */
	onAny(listener: (name: EventName, facts: Events[EventName]) => void): () => void;
}

/** A bus of its own for one service. */
export function eventBus(): EventBus {
	const listeners = new Map<EventName, Set<(facts: never) => void>>();
	const any = new Set<(name: EventName, facts: Events[EventName]) => void>();
	return {
		emit(name, facts) {
			const set = listeners.get(name);
			if (set) for (const listener of set) (listener as Listener<typeof name>)(facts);
			for (const listener of any) listener(name, facts);
		},
		on(name, listener) {
			const set = listeners.get(name) ?? new Set();
			listeners.set(name, set);
			set.add(listener);
			return () => set.delete(listener);
		},
		onAny(listener) {
			any.add(listener);
			return () => any.delete(listener);
		},
	};
}
