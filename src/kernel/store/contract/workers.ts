import type { EndedWorker } from "../../core/workers/ended-worker.ts";

/**
 * The result of a call for a worker's attempts. `lost`: jobs that wait again. `over`: jobs whose attempt is known to
 * have ended and that do not wait again (old attempts, and an attempt that failed by its last loss).
 */
export interface AttemptReconciliation {
	lost: string[];
	over: string[];
}

/**
 * The result of a ping. `shared`: it named a job that a take had denied over an interval before, so two processes use
 * the id.
 */
export interface PingReconciliation extends AttemptReconciliation {
	shared?: boolean;
}

/**
 * The result of a take that reports no job. `kept`: jobs that count as running until their leases end. `keptOpen`: jobs
 * whose old attempts may still run.
 */
export interface IdleReconciliation extends AttemptReconciliation {
	kept: string[];
	keptOpen: string[];
}

export interface WorkerRow {
	id: string;
	endpoint: string;
	/** `external` for workers started by others. */
	launcher: string;
	/** JSON text of the launcher's handle; absent until it runs. */
	handle?: string | undefined;
	/** Base address of the service that the worker was started with. */
	url?: string | undefined;
	/** The server that launched it; absent if only one server can open the store. */
	server?: string | undefined;
	createdAt: number;
}

export interface WorkerStore {
	put(row: WorkerRow): Promise<void>;
	list(): Promise<WorkerRow[]>;
	/** Replaces a handle. Changes nothing and returns false if it is no longer `from`. */
	replaceHandle(q: { id: string; from: string; to: string }): Promise<boolean>;
	remove(q: { id: string }): Promise<void>;
	/** Replaces the worker's record; its endpoint keeps the last `count` that ended after `since` (D47). */
	end(q: { worker: EndedWorker; count: number; since: number }): Promise<void>;
	/** Lists ended workers, the last ended first. */
	ended(q: { endpoint: string; since: number; limit: number }): Promise<EndedWorker[]>;
	/**
	 * Renews the leases of the jobs `named`, and takes back others given to the worker before `handedBefore` that its
	 * pings, `intervalMs` apart, have omitted twice; likewise for its old attempts, which have then ended (D16).
	 */
	ping(q: {
		endpoint: string;
		worker: string;
		named: readonly string[];
		handedBefore: number;
		intervalMs: number;
		now: number;
	}): Promise<PingReconciliation>;
	/**
	 * Handles the worker's report that it runs nothing that it was given before `before`. Ends its old attempts, if it
	 * does not ping (`pings`) or no ping has named them for a lease; {@link WorkerStore.renew} does not renew such jobs
	 * any more (D16). `dead`: its process has ended, as `workerEnd` says, and its jobs are taken back too.
	 */
	idle(q: {
		endpoint: string;
		worker: string;
		before: number;
		dead?: boolean;
		pings?: boolean;
		workerEnd?: string | undefined;
		now: number;
	}): Promise<IdleReconciliation>;
	/**
	 * Renews the leases of a worker that polls and has never pinged, except of jobs that one of its takes denied (D16).
	 */
	renew(q: { endpoint: string; worker: string; now: number }): Promise<void>;
}

/** Hosts of the configuration that get no workers (D44). */
export interface HostStore {
	drained(): Promise<string[]>;
	/** Idempotent. */
	drain(q: { name: string; drained: boolean; now: number }): Promise<void>;
}
