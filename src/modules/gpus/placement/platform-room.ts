/** Which workers make room for one that its platform cannot place, and which must wait until it is placed (D28). */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { evictable } from "./eviction.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import type { PlacedWorker } from "../../../kernel/launchers/launcher.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { Worker } from "../../../kernel/engine/workers/worker-registry.ts";
import { holderOf, settingsIn } from "./gpu-allocator.ts";

/** Back-off between evictions for the same waiting worker, ms; doubled each time, since an eviction may not help. */
const AGAIN_MS = 60_000;

export function platformRoom({
	now,
	endpoints,
	workers,
	cluster,
}: Pick<Kernel, "now" | "endpoints" | "workers" | "cluster">) {
	const { launcher, registry } = workers;
	const made = new WeakMap<Worker, { at: EpochMs; times: number }>();
	const othersLeftAt = new WeakMap<Worker, EpochMs>();
	/** Room that an endpoint (the key) must not take: the worker for which it was made, and the workers that made it. */
	const kept = new Map<string, { ahead: Worker; makers: readonly Worker[]; since: EpochMs }>();

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
		const leaving = others.filter(launcher.isLeaving, launcher).map(placed);
		if (leaving.some(({ gpus }) => gpus > 0)) othersLeftAt.set(waiting, now());
		const placedOnes = others.filter(({ notice: own }) => own?.state !== "waiting");
		const stoppable = evictable({
			holders: placedOnes.map((worker) => ({
				...holderOf(worker),
				gpus: Array.from({ length: endpoints.get(worker.endpoint).gpusPerWorker }),
				// Another server knows whether the workers of its endpoints are needed.
				stopping: launcher.isLeaving(worker) || !cluster.scales(worker.endpoint),
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

	/**
	 * Returns waiting workers that the platform might place first, since it knows no turns: those of the makers'
	 * endpoints and of endpoints behind this one (`later`). None of these starts another worker before `ahead` is placed.
	 */
	function rivalsOf(ahead: Worker, makers: readonly Worker[], later: ReadonlySet<string>): Worker[] {
		const behind = later.union(new Set(makers.map(({ endpoint }) => endpoint)));
		const waiting = { ...placed(ahead), gpus: 1, ...ahead.notice! };
		const sharesGpus = (worker: Worker): boolean =>
			launcher.roomFor(ahead, { waiting, quietMs: Infinity, stoppable: [placed(worker)], leaving: [] }).length > 0;
		const rivals = [...registry.all()].filter(
			(worker) =>
				worker.managed &&
				worker.launcher === ahead.launcher &&
				worker.notice?.state === "waiting" &&
				behind.has(worker.endpoint) &&
				cluster.scales(worker.endpoint) &&
				!launcher.isLeaving(worker) &&
				sharesGpus(worker),
		);
		for (const { endpoint } of [...makers, ...rivals]) kept.set(endpoint, { ahead, makers, since: now() });
		return rivals;
	}

	/** Returns a sentence that names the endpoint for which room is kept from this one; undefined: none is kept. */
	function keptFor(endpoint: string): string | undefined {
		const room = kept.get(endpoint);
		if (!room) return undefined;
		const { ahead, makers } = room;
		const isThere = (worker: Worker): boolean => registry.get(worker) === worker;
		if (makers.some((worker) => isThere(worker) && launcher.isLeaving(worker))) room.since = now();
		const waits = isThere(ahead) && !launcher.isLeaving(ahead) && ahead.notice?.state === "waiting";
		if (waits && now() - room.since < AGAIN_MS) return `What becomes free is kept for endpoint ${ahead.endpoint}.`;
		kept.delete(endpoint);
		return undefined;
	}

	return { makersFor, rivalsOf, keptFor };
}
