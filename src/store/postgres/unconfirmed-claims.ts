/**
 * Jobs handed out by a transaction whose end nobody heard of: no worker was told of them, so where
 * it was committed they run nowhere. They go back once the database is there again: a return of
 * ours, which counts as no loss (D16).
 */
import type { Clock } from "../../clock.ts";
import type { Job } from "../../core/job.ts";
import { StoreUnavailable } from "../contract/store.ts";
import { ASKED_MS, isCommitted } from "./connection/commit-markers.ts";
import type { Marker } from "./connection/commit-markers.ts";
import type { Database } from "./connection/database.ts";

/** Pause between two tries while the database is away or the end of the transaction is open, ms. */
const AGAIN_MS = 500;

/** How long one question may wait for the end of the transaction, ms. */
const WAIT_MS = 2000;

export interface UnconfirmedClaims {
	/** `jobs` as this transaction handed them out, the first one first. */
	add(q: { marker: Marker; jobs: readonly Job[] }): void;
	/** What is still open is left to the leases. */
	close(): Promise<void>;
}

/**
 * `release` gives back jobs that were handed out, in one step, the last one first so that their
 * order stays. Throws as the store does.
 */
export function openUnconfirmedClaims({
	write,
	clock,
	release,
}: {
	write: Database["write"];
	clock: Clock;
	release: (jobs: readonly Job[]) => Promise<void>;
}): UnconfirmedClaims {
	const stopped = new AbortController();
	const open = new Set<Promise<void>>();

	/** Whether all is known and done. */
	async function settled(marker: Marker, jobs: readonly Job[]): Promise<boolean> {
		try {
			if (await write((runner) => isCommitted(runner, marker, WAIT_MS)))
				await release(jobs.toReversed());
			return true;
		} catch (error) {
			return !(error instanceof StoreUnavailable) || error.why === "closed";
		}
	}

	/** Later than that its marker may have been removed, and the leases of the jobs are over. */
	async function settle(marker: Marker, jobs: readonly Job[]): Promise<void> {
		const until = clock.now() + ASKED_MS;
		while (!stopped.signal.aborted && clock.now() < until && !(await settled(marker, jobs)))
			await clock.sleep(AGAIN_MS, stopped.signal);
	}

	return {
		add({ marker, jobs }) {
			if (jobs.length === 0) return;
			const done = settle(marker, jobs).finally(() => open.delete(done));
			open.add(done);
		},
		async close() {
			stopped.abort();
			await Promise.all(open);
		},
	};
}
