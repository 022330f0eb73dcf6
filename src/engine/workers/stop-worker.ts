/**
 * The end of one worker: of a launched one when an operator asks for it (D28), of an external one
 * when whoever started it has ended it (D36).
 */
import { ApiError } from "../../core/errors.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Tokens } from "../access/worker-tokens.ts";
import type { WorkerViews } from "./worker-views.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** Which worker. */
export interface WorkerId {
	endpoint: string;
	id: string;
}

/**
 * As `stopWorker` of `api.ts`; `retire` ends a worker that this server launched, once it holds no
 * job.
 */
export async function stopWorker(
	{
		workers,
		views,
		retire,
	}: { workers: WorkerRegistry; views: WorkerViews; retire: (worker: Worker) => void },
	q: WorkerId,
): Promise<boolean> {
	const worker = workers.get(q);
	if (worker && worker.launcher !== "external") {
		retire(worker);
		return true;
	}
	const shown = (await views.of(q.endpoint)).find(({ id }) => id === q.id);
	if (!shown)
		throw new ApiError("worker_gone", { endpoint: q.endpoint, worker: q.id.slice(0, 128) });
	if (shown.launcher === "external")
		throw new ApiError("worker_not_launched", { endpoint: q.endpoint, worker: q.id });
	return false;
}

interface EndedDeps {
	now: () => number;
	workers: WorkerRegistry;
	tokens: Pick<Tokens, "revoke">;
	cluster: Pick<Cluster, "shared">;
	/** What servers that share the store know of each other; absent where one server has it alone. */
	clusterStore: Pick<ClusterStore, "running"> | undefined;
	giveBack: (worker: Worker, jobs: readonly { id: string; attempt: number }[]) => Promise<void>;
}

/** As `workerEnded` of `api.ts`. */
export async function workerEnded(
	{ now, workers, tokens, cluster, clusterStore, giveBack }: EndedDeps,
	q: WorkerId,
): Promise<void> {
	// It may have called other servers only.
	const worker =
		workers.get(q) ??
		(cluster.shared ? workers.meet({ ...q, ready: false, now: now() }) : undefined);
	if (worker) {
		worker.draining = true;
		for (const end of worker.polls) end();
		const held = clusterStore
			? (await clusterStore.running(q)).filter((each) => each.worker === q.id)
			: [...worker.held].map(([id, { attempt }]) => ({ id, attempt }));
		await giveBack(worker, held);
		workers.forget(worker);
	}
	await tokens.revoke(q.id);
}
