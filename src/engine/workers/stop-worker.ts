/** An operator stops a launched worker (D28). */
import { ApiError } from "../../core/errors.ts";
import { isManaged } from "../../launchers/index.ts";
import type { WorkerLauncher } from "./launch.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import type { WorkerViews } from "./worker-views.ts";

/**
 * The worker gets no more jobs and is stopped once it holds none. False when another server
 * launched it. Throws `worker_gone` and `worker_not_launched`.
 */
export async function stopWorker(
	d: { registry: WorkerRegistry; views: WorkerViews; launcher: Pick<WorkerLauncher, "retire"> },
	q: { endpoint: string; id: string },
): Promise<boolean> {
	const worker = d.registry.get(q);
	if (worker?.managed) {
		d.launcher.retire(worker, "an operator requested it");
		return true;
	}
	const view = (await d.views.of(q.endpoint)).find(({ id }) => id === q.id);
	if (!view) throw new ApiError("worker_gone", { endpoint: q.endpoint, worker: q.id.slice(0, 128) });
	if (!isManaged(view.launcher)) throw new ApiError("worker_not_launched", { endpoint: q.endpoint, worker: q.id });
	return false;
}
