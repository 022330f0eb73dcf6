/**
 * Jobs claimed by a transaction whose outcome is unknown. No worker received them, so they are released once the
 * database answers, which counts as no loss (D16).
 */
import type { Clock } from "../../../system/clock.ts";
import type { Job } from "../../../core/jobs/job.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import { ASKED_MS, isCommitted, type Marker } from "../connection/commit-markers.ts";
import type { Database } from "../connection/database.ts";

/** Pause while the database is unavailable or the transaction is open, ms. */
const AGAIN_MS = 500;

/** How long one check may wait for the end of the transaction, ms. */
const WAIT_MS = 2000;

/**
 * Collects such jobs. `release` requeues them in one step, the last one first to keep their order. Throws as the store
 * does.
 */
export function openUnconfirmedClaims({
	write,
	clock,
	release,
}: {
	write: Database["write"];
	clock: Clock;
	release: (jobs: readonly Job[]) => Promise<void>;
}) {
	const stopped = new AbortController();
	const open = new Set<Promise<void>>();

	async function settled(marker: Marker, jobs: readonly Job[]): Promise<boolean> {
		try {
			if (await write((runner) => isCommitted(runner, marker, WAIT_MS))) await release(jobs.toReversed());
			return true;
		} catch (error) {
			return !(error instanceof StoreUnavailable) || error.why === "closed";
		}
	}

	/** Stops when the marker may have been removed; the leases have expired by then. */
	async function settle(marker: Marker, jobs: readonly Job[]): Promise<void> {
		const until = clock.now() + ASKED_MS;
		while (!stopped.signal.aborted && clock.now() < until && !(await settled(marker, jobs)))
			await clock.sleep(AGAIN_MS, stopped.signal);
	}

	return {
		add({ marker, jobs }: { marker: Marker; jobs: readonly Job[] }): void {
			if (jobs.length === 0) return;
			const done = settle(marker, jobs).finally(() => open.delete(done));
			open.add(done);
		},
		async close(): Promise<void> {
			stopped.abort();
			await Promise.all(open);
		},
	};
}
