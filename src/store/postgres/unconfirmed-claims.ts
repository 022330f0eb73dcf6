/**
 * Jobs handed out by a transaction whose end nobody heard of: no worker was told of them, so where
 * it was committed they run nowhere. They go back once the database is there again: a return of
 * ours, which counts as no loss (D16).
 */
import type { Clock } from "../../clock.ts";
import type { Job } from "../../core/job.ts";
import { StoreUnavailable } from "../store.ts";
import type { Runner } from "./connection/statement.ts";
import { isCommitted } from "./connection/transaction.ts";

/** Pause between two tries while the database is away or the end of the transaction is open, ms. */
const AGAIN_MS = 500;

export interface UnconfirmedClaims {
	/** `jobs` as this transaction handed them out, the first one first. */
	add(q: { transaction: string; jobs: readonly Job[] }): void;
	/** What is still open is left to the leases. */
	close(): Promise<void>;
}

/**
 * `release` gives back jobs that were handed out, in one step, the last one first so that their
 * order stays. Throws as the store does.
 */
export function openUnconfirmedClaims({
	read,
	clock,
	release,
}: {
	read: Runner;
	clock: Clock;
	release: (jobs: readonly Job[]) => Promise<void>;
}): UnconfirmedClaims {
	const stopped = new AbortController();
	const open = new Set<Promise<void>>();

	/** Whether all is known and done. */
	async function settled(transaction: string, jobs: readonly Job[]): Promise<boolean> {
		try {
			const committed = await isCommitted(read, transaction);
			if (committed) await release(jobs.toReversed());
			return committed !== undefined;
		} catch (error) {
			// A standby that took over may never have heard of the transaction, and says so by an error.
			return !(error instanceof StoreUnavailable) || error.why === "closed";
		}
	}

	async function settle(transaction: string, jobs: readonly Job[]): Promise<void> {
		while (!stopped.signal.aborted && !(await settled(transaction, jobs)))
			await clock.sleep(AGAIN_MS, stopped.signal);
	}

	return {
		add({ transaction, jobs }) {
			if (jobs.length === 0) return;
			const done = settle(transaction, jobs).finally(() => open.delete(done));
			open.add(done);
		},
		async close() {
			stopped.abort();
			await Promise.all(open);
		},
	};
}
