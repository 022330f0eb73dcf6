/** The operator of an external worker has ended it (D36): `sluice dev` restarts it, for example. */
import { endPolls } from "../workers/worker-registry.ts";
import type { JobDeps } from "./job-deps.ts";

/** What it held is requeued without counting a loss, and its token is revoked (D16). */
export async function workerEnded(
	d: Pick<JobDeps, "now" | "store" | "access" | "cluster" | "workers" | "dispatch">,
	q: { endpoint: string; id: string },
): Promise<void> {
	const { registry } = d.workers;
	// It may have called other servers only.
	const worker =
		registry.get(q) ?? (d.cluster.shared ? registry.meet({ ...q, ready: false, now: d.now() }) : undefined);
	if (worker) {
		worker.draining = true;
		endPolls(worker);
		const held = d.store.cluster
			? (await d.store.cluster.running(q)).filter((each) => each.worker === q.id)
			: [...worker.held].map(([id, { attempt }]) => ({ id, attempt }));
		await d.dispatch.requeue(worker, held);
		registry.forget(worker);
	}
	await d.access.tokens.revoke(q.id);
}
