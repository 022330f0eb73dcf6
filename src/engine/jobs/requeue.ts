/** Jobs that never reached their worker: no loss, and nothing can run there (D16). */
import type { EpochMs } from "../../core/time.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { releaseJob, type Worker } from "../workers/worker-registry.ts";

/** Puts the jobs back at the front of the queue; returns the ids of those that wait again. */
export async function requeueUndelivered(
	d: { move: JobStore["move"]; now: () => EpochMs },
	worker: Worker,
	jobs: readonly { id: string; attempt: number }[],
): Promise<string[]> {
	const now = d.now();
	const requeued: string[] = [];
	// From the last to the first: each goes to the front, so that their order stays.
	const moves = jobs.toReversed().map(async ({ id, attempt }) => {
		releaseJob(worker, id, now);
		const moved = await d.move({
			endpoint: worker.endpoint,
			id,
			on: "release",
			attempt,
			over: true,
			now,
		});
		if (moved.ok) requeued.push(id);
	});
	await Promise.all(moves).catch((error: unknown) => {
		// The end of their lease requeues them.
		if (!(error instanceof StoreUnavailable)) throw error;
	});
	return requeued;
}
