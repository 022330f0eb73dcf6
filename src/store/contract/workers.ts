/** Workers and their tokens in the store's contract; rules: store.ts. */
import type { EndedWorker } from "../../core/workers/ended-worker.ts";

/**
 * Effect of news about a worker's attempts. `lost`: jobs that wait again. `over`: jobs whose
 * attempt is known to have ended at the worker without waiting again for it (old attempts, and one
 * that failed by its last loss).
 */
export interface AttemptReconciliation {
	lost: string[];
	over: string[];
}

/** A worker that was launched or has called. */
export interface WorkerRow {
	id: string;
	endpoint: string;
	/** Name of the launcher; `external` for workers started by others. */
	launcher: string;
	/** JSON text of the launcher's handle; absent until it runs. */
	handle?: string | undefined;
	/** Base address that it was given to call. */
	url?: string | undefined;
	/** The server that launched it; absent where only one can open the store. */
	server?: string | undefined;
	createdAt: number;
}

export interface WorkerStore {
	/** Adds the worker or replaces its record. */
	put(row: WorkerRow): Promise<void>;
	list(): Promise<WorkerRow[]>;
	remove(q: { id: string }): Promise<void>;
	/**
	 * It has ended: removes its record above and keeps this one, of its endpoint the last `count` that
	 * ended after `since` (D47).
	 */
	end(q: { worker: EndedWorker; count: number; since: number }): Promise<void>;
	/** Ended workers of an endpoint, those that ended last first. */
	ended(q: { endpoint: string; since: number; limit: number }): Promise<EndedWorker[]>;
	/**
	 * A ping: renews the leases of the jobs `named`, counts a miss for the others given to the worker
	 * before `handedBefore`, and takes back those missed {@link MISSED_PINGS} times; likewise for its
	 * old attempts, which have then ended (D16).
	 */
	ping(q: {
		endpoint: string;
		worker: string;
		named: readonly string[];
		handedBefore: number;
		now: number;
	}): Promise<AttemptReconciliation>;
	/**
	 * The worker runs nothing that it was given before `before` (a take with `job_in_progress=0`, or
	 * `dead`: its process has ended, as `workerEnd` says): takes back its jobs and ends its old
	 * attempts (D16).
	 */
	idle(q: {
		endpoint: string;
		worker: string;
		before: number;
		dead?: boolean;
		workerEnd?: string | undefined;
		now: number;
	}): Promise<AttemptReconciliation>;
	/** Renews the leases of all its running jobs, for a worker that polls and never pinged (D16). */
	renew(q: { endpoint: string; worker: string; now: number }): Promise<void>;
}

/** A worker's token, as SHA-256 in hex (D26). */
export interface TokenRow {
	hash: string;
	endpoint: string;
	/** The only worker id it is valid for; absent for a token of many replicas (D36). */
	worker?: string | undefined;
	createdAt: number;
}

export interface TokenStore {
	put(row: TokenRow): Promise<void>;
	find(q: { hash: string }): Promise<TokenRow | undefined>;
	list(): Promise<TokenRow[]>;
	remove(q: { worker: string }): Promise<void>;
}
