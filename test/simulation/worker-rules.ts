/** What a server may not do with the workers of a machine (D28, D50). */
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { EventBus } from "../../src/kernel/events.ts";
import type { Running } from "./launcher.ts";
import type { Reply, Request } from "./network.ts";
import type { Process } from "./process.ts";

/** Reason of a worker that leaves for a newer version. */
const REPLACED = "its endpoint has another launcher or environment now";

/** Events of which a search counts how often they happened, as a sign of what its schedules reach. */
export const COUNTED: readonly string[] = [
	"worker.asleep",
	"worker.woken",
	"worker.exceeded",
	"worker.warming",
	"worker.waiting",
	"worker.failed",
	"warmup.failed",
	"room.made",
	"release.healthy",
	"release.rolled_back",
];

/** No job is handed to a worker that sleeps, or whose end or sleep this server has asked for. */
export function handedOutFault(
	{ path: [, , operation, id = ""] }: Pick<Request, "path">,
	{ status, text }: Pick<Reply, "status" | "text">,
	{ get, process }: { get: (id: string) => Running | undefined; process: Process },
): string | undefined {
	if (operation !== "job-take-batch" || status !== 200 || text.startsWith('[{"id":"warmup-')) return undefined;
	const worker = get(id);
	if (!worker || (worker.isAwake && worker.leaves !== process)) return undefined;
	return `${id}, which ${worker.isAwake ? "leaves" : "sleeps"}, got ${text}`;
}

/**
 * A rollout stops no second worker before one of the new version has arrived, if none would be left (D50). With
 * GPUs that others wait for, as many leave as one of the new version needs besides theirs. What an earlier run of the
 * server has begun is not known to it.
 */
export function watchRollouts(
	{ events, engine }: { events: EventBus; engine: Engine },
	broken: (what: string) => void,
): void {
	const { registry, launcher } = engine.workers;
	/** Workers of each endpoint that left, less those that have arrived, since its last change. */
	const departed = new Map<string, Set<string>>();
	const departedOf = (endpoint: string): Set<string> => {
		const ids = departed.get(endpoint) ?? new Set<string>();
		departed.set(endpoint, ids);
		return ids;
	};
	events.on("endpoints.changed", () => departed.clear());
	events.on(["worker.ready", "worker.woken"], ({ endpoint }) => {
		const ids = departedOf(endpoint);
		for (const id of [...ids].slice(0, 1)) ids.delete(id);
	});
	events.on("worker.draining", ({ endpoint, worker: id, why }) => {
		const worker = registry.get({ endpoint, id });
		if (why !== REPLACED || !worker?.ready || worker.sleep) return;
		const ids = departedOf(endpoint);
		const left = [...registry.of(endpoint)].filter((each) => each.ready && !each.sleep && !launcher.isLeaving(each));
		const usesGpus = (each: string): boolean => engine.endpoints.get(each).gpusPerWorker > 0;
		const isShared =
			usesGpus(endpoint) && engine.endpoints.all().filter((each) => usesGpus(each.endpoint.id)).length > 1;
		if (left.length === 0 && ids.size > 0 && !isShared) broken(`${id} leaves ${endpoint} after ${[...ids].join(", ")}`);
		ids.add(id);
	});
}
