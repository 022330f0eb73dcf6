/**
 * The event bus: the log, metrics, tests and the domains of the engine listen. The engine contains
 * no log calls. Events never carry a payload or a secret.
 */
import type { JobState } from "./core/job-states.ts";
import type { ExitReason } from "./core/workers/worker-reason.ts";

/** Each event with its facts. */
export interface Events {
	/** The service accepts requests at this address. */
	"service.listening": { url: string };
	/** A stop was requested; running jobs get time to finish (D34). */
	"service.draining": { drainMs: number; leaveWorkers: boolean };
	/** The service did not run for this time: every lease is extended (D16 Outages). */
	"service.away": { ms: number };
	/** The time of day was set, the database's where servers share one, or the machine was suspended (D16). */
	"clock.stepped": { ms: number };
	/** Another server that shares the store is alive. */
	"server.joined": { server: string; url: string };
	/** It left, or sends no heartbeats any more. */
	"server.left": { server: string; url: string };
	/** This server leads a role from now on, or (`scale:` and an endpoint) starts its workers. */
	"lease.taken": { name: string };
	/** It does not lead it any more. */
	"lease.lost": { name: string };
	/** Hints of the store or of other servers may have been lost: their subjects are read again. */
	"hints.lost": Record<never, never>;
	/** A job is persisted and waits; `again` when a retry queued it. */
	"job.queued": { endpoint: string; id: string; again?: true };
	/** Jobs of the endpoint are queued, not dispatched (D29). */
	"endpoint.paused": { endpoint: string };
	/** They are dispatched again. */
	"endpoint.resumed": { endpoint: string };
	/** The endpoint does not exist for callers any more; its jobs are being cancelled (D39). */
	"endpoint.removed": { endpoint: string };
	/** Nothing of a removed endpoint is left. */
	"endpoint.deleted": { endpoint: string };
	/** Endpoints were created, changed or removed, here or by another server. */
	"endpoints.changed": Record<never, never>;
	/** The waiting jobs of an endpoint were removed (D11). */
	"queue.purged": { endpoint: string; removed: number };
	/** A job was dispatched to a worker, after it had waited for `waitedMs`. */
	"job.started": {
		endpoint: string;
		id: string;
		worker: string;
		attempt: number;
		waitedMs: number;
	};
	/**
	 * A job reached its final state; `ranMs` where its worker reported it. `elsewhere`: another server
	 * that shares the store did it, and announces it too.
	 */
	"job.settled": {
		endpoint: string;
		id: string;
		state: JobState;
		ranMs?: number;
		/** That reported it. */
		worker?: string;
		elsewhere?: true;
	};
	/** The worker of a job sent a progress value. */
	"job.progressed": { endpoint: string; id: string };
	/** A job went back to the front of the queue. */
	"job.returned": { endpoint: string; id: string; worker: string; why: "lost" | "released" };
	/** A report or chunk changed nothing, because the worker does not hold the job (D16 Fence). */
	"report.dropped": {
		endpoint: string;
		id: string;
		worker: string;
		why: "missing" | "state" | "stale";
	};
	/** A launcher started a worker. */
	"worker.launched": { endpoint: string; worker: string };
	/** A worker of an earlier run of the service was taken over (D34). */
	"worker.adopted": { endpoint: string; worker: string };
	/** A worker called for the first time. */
	"worker.ready": { endpoint: string; worker: string };
	/** A worker reported itself unhealthy, or only its ping process is left. */
	"worker.unhealthy": { endpoint: string; worker: string; reason: string };
	/** The version of a worker's SDK has a known problem; once for each worker. */
	"worker.warned": { endpoint: string; worker: string; warning: string };
	/** The platform does not run a launched worker yet; again when the reason changes. */
	"worker.waiting": { endpoint: string; worker: string; reason: string; message: string };
	/** A launched worker gets no more jobs, and is stopped once it holds none (D28). */
	"worker.draining": { endpoint: string; worker: string; why: string };
	/** A launched worker is being stopped. */
	"worker.stopping": { endpoint: string; worker: string; why: string };
	/** A launched worker exited; `reason`: what the platform says about it. */
	"worker.exited": {
		endpoint: string;
		worker: string;
		code: number | undefined;
		signal: string | undefined;
		lastOutput: string;
		reason?: ExitReason;
	};
	/** A worker could not be started, crashed or is unhealthy; the next start is after `retryMs`. */
	"worker.failed": { endpoint: string; reason: string; retryMs: number };
	/** An operator ended the pause of starts after crashes (D28). */
	"starts.resumed": { endpoint: string };
	/** Two processes poll with one worker id; the later one was refused (D26). */
	"worker.duplicate": { endpoint: string; worker: string };
	/** A launched worker that has ended still calls, and is refused (D26); once for each worker. */
	"worker.stray": { endpoint: string; worker: string; from: string };
	/** A worker was asked to stop a job (D18). */
	"stop.sent": { endpoint: string; id: string; worker: string };
	/**
	 * The grace is over and the worker cannot be killed for the job: Sluice does not manage it, or it
	 * runs other jobs (D18).
	 */
	"stop.unconfirmed": { endpoint: string; id: string; worker: string };
	/** A receiver answered a webhook with 200 (D21). Path and query of its URL may be secret. */
	"webhook.delivered": { endpoint: string; id: string; delivery: string; host: string };
	/** An attempt to send a webhook failed; the next one is after `retryMs`, or never (D21). */
	"webhook.failed": {
		endpoint: string;
		id: string;
		delivery: string;
		host: string;
		reason: string;
		retryMs: number | undefined;
	};
	/** Stored secrets may still be encrypted with an earlier key (D22). */
	"secrets.earlier": Record<never, never>;
	/** Other users of the machine can replace files in the data folder. */
	"folder.writable": { path: string };
	/** The TLS certificate was read again and is in use (D34). */
	"certificate.reloaded": Record<never, never>;
	/** The changed certificate files cannot be used; the former ones stay in use. */
	"certificate.failed": { reason: string };
	/**
	 * A receiver did not answer several attempts of an endpoint in a row: its webhooks wait for
	 * `retryMs` (D21).
	 */
	"webhook.paused": {
		endpoint: string;
		host: string;
		reason: string;
		unanswered: number;
		retryMs: number;
	};
	/**
	 * A receiver failed for too long: its webhooks are not sent until it is enabled (D21).
	 */
	"webhook.disabled": { endpoint: string; host: string; reason: string; failingMs: number };
	/** The store cannot be written. */
	"store.away": { why: string };
	/**
	 * The store is unavailable and so many bytes of workers' posts are kept for it that further ones
	 * are refused; once for each outage (D40).
	 */
	"posts.refused": { heldBytes: number };
	/** Less than the reserve is free on the disk of the store: submissions are refused (D41). */
	"disk.low": { freeBytes: number; reserveBytes: number };
	"disk.enough": { freeBytes: number };
	/** A backup was sent to its client (D46). */
	"backup.sent": { bytes: number; ms: number };
	/** This process cannot use the store any more, and ends. */
	"store.failed": { why: string };
	/** The store can be written again. */
	"store.back": Record<never, never>;
	/** A response was an error of 500 or more. */
	"request.failed": {
		method: string;
		path: string;
		status: number;
		reference: string;
		error: unknown;
	};
	/** Background work failed and is retried. */
	fault: { where: string; error: unknown };
}

export type EventName = keyof Events;
type Listener<N extends EventName> = (facts: Events[N]) => void;

export interface EventBus {
	emit<N extends EventName>(name: N, facts: Events[N]): void;
	/** Returns what removes the listener. */
	on<N extends EventName>(name: N, listener: Listener<N>): () => void;
	/** Listens to every event. Returns what removes the listener. */
	onAny(listener: (name: EventName, facts: Events[EventName]) => void): () => void;
}

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
