/** Renews leases by the bodies of workers' posts that are still arriving: they show that the job runs (D16 Lease). */
import { isJobId } from "../../../core/jobs/job.ts";
import type { Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";

/** Minimum time between two renewals by one post, ms. */
const RENEW_MS = 1000;

/** Returns a function to call for each piece of the body. It renews the lease if the worker holds the job. */
export function arrivingPost(d: JobDeps, { worker, id }: { worker: Worker; id: string }): () => void {
	const { endpoint } = worker;
	let renewedAt = d.now();
	let isRenewing = false;

	async function renew(): Promise<void> {
		isRenewing = true;
		try {
			await d.store.jobs.renew({ endpoint, id, worker: worker.id, now: renewedAt });
		} finally {
			isRenewing = false;
		}
	}

	return () => {
		const now = d.now();
		if (isRenewing || now - renewedAt < RENEW_MS || !isJobId(id)) return;
		renewedAt = now;
		d.background.run(`renewing the lease of job ${id}`, renew());
	};
}
