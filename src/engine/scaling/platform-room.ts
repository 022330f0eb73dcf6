/** Which workers make room for one that its platform cannot place (D28). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { evictable } from "../../core/workers/eviction.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { PlacedWorker } from "../../launchers/launcher.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Workers } from "../workers/workers.ts";
import type { Worker } from "../workers/worker-registry.ts";
import { canPreempt, holderOf, settingsIn } from "./gpu-allocator.ts";

/** Room is made again for a worker that still waits after this time, ms, doubled each time: it may not help. */
const AGAIN_MS = 60_000;

export interface PlatformRoomContext extends Pick<EngineContext, "now"> {
	endpoints: Endpoints;
	workers: Workers;
	cluster: Cluster;
}

export function platformRoom({ now, endpoints, workers, cluster }: PlatformRoomContext) {
	const { launcher, registry } = workers;
	const made = new WeakMap<Worker, { at: EpochMs; times: number }>();
	const othersLeftAt = new WeakMap<Worker, EpochMs>();

	function placed({ id, endpoint }: Worker): PlacedWorker {
		const { launcher: settings, gpusPerWorker } = endpoints.get(endpoint);
		return { id, settings, gpus: gpusPerWorker };
	}

	/** Returns workers of other endpoints that should be stopped now. */
	function makersFor(waiting: Worker, endpoint: Endpoint, mayEvict: boolean): Worker[] {
		const { notice } = waiting;
		const { at = -Infinity, times = 0 } = made.get(waiting) ?? {};
		if (notice?.state !== "waiting" || now() - at < AGAIN_MS * 2 ** (times - 1)) return [];
		const others = [...registry.all()].filter(
			(worker) => worker.managed && worker.launcher === waiting.launcher && endpoints.has(worker.endpoint),
		);
		const isLeaving = (worker: Worker): boolean =>
			launcher.isLeaving(worker) && !(mayEvict && canPreempt({ endpoints, workers }, worker, endpoint));
		const leaving = others.filter(isLeaving).map(placed);
		if (leaving.some(({ gpus }) => gpus > 0)) othersLeftAt.set(waiting, now());
		const placedOnes = others.filter(({ notice: own }) => own?.state !== "waiting");
		const stoppable = evictable({
			holders: placedOnes.map((worker) => ({
				...holderOf(worker),
				gpus: Array.from({ length: endpoints.get(worker.endpoint).gpusPerWorker }),
				// Another server knows whether the workers of its endpoints are needed.
				stopping: isLeaving(worker) || !cluster.scales(worker.endpoint),
			})),
			endpoint: endpoint.id,
			needed: endpoint.gpusPerWorker,
			settingsOf: settingsIn(endpoints),
			mayEvict,
			now: now(),
		});
		const byId = new Map(others.map((worker) => [worker.id, worker]));
		const chosen = launcher.roomFor(waiting, {
			waiting: { ...placed(waiting), code: notice.code, message: notice.message },
			quietMs: now() - Math.max(waiting.createdAt, othersLeftAt.get(waiting) ?? 0),
			stoppable: stoppable.map(({ worker }) => placed(byId.get(worker)!)),
			leaving,
		});
		if (chosen.length > 0) made.set(waiting, { at: now(), times: times + 1 });
		return chosen.map((id) => byId.get(id)!);
	}

	return { makersFor };
}
