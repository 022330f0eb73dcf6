import type { EndedWorker } from "../../core/workers/ended-worker.ts";

/**
 * `lost`: jobs that wait again. `over`: jobs whose attempt is known to have ended without waiting again (old attempts,
 * and one that failed by its last loss).
 */
export interface AttemptReconciliation {
	lost: string[];
	over: string[];
}

/** `shared`: it named a job that a take had denied over an interval before, so two processes use the id. */
export interface PingReconciliation extends AttemptReconciliation {
	shared?: boolean;
}

/** `kept`: jobs that run as long as their leases; `keptOpen`: jobs whose old attempts are not believed to be over. */
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
	/** Base address that it was given to call. */
	url?: string | undefined;
	/** The server that launched it; absent where only one can open the store. */
	server?: string | undefined;
	createdAt: number;
}

export interface WorkerStore {
	put(row: WorkerRow): Promise<void>;
	list(): Promise<WorkerRow[]>;
	/** Changes nothing, and answers false, if the handle is no longer `from`. */
	replaceHandle(q: { id: string; from: string; to: string }): Promise<boolean>;
	remove(q: { id: string }): Promise<void>;
	/** Replaces the worker's record; its endpoint keeps the last `count` that ended after `since` (D47). */
	end(q: { worker: EndedWorker; count: number; since: number }): Promise<void>;
	/** Those that ended last first. */
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
	 * The worker says that it runs nothing that it was given before `before`: ends its old attempts, if it does not ping
	 * (`pings`) or no ping named them for a lease, and {@link WorkerStore.renew} renews such jobs no longer (D16).
	 * `dead`: its process has ended, as `workerEnd` says: its jobs are taken back too.
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
	/** Renews the leases of a worker that polls and never pinged, of jobs that no take of it denied (D16). */
	renew(q: { endpoint: string; worker: string; now: number }): Promise<void>;
}

/** Hosts of the configuration that get no workers (D44). */
export interface HostStore {
	drained(): Promise<string[]>;
	/** Idempotent. */
	drain(q: { name: string; drained: boolean; now: number }): Promise<void>;
}
