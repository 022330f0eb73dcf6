/** `/v2/serverless/{endpoint}/workers` (D49). Clients read it while they wait for a job. */
import type { LIST_MANAGED_WORKERS, ManagedStatus, ManagedWorker } from "../routes/workers.ts";
import type { AnswerOf } from "../../../kernel/api/definition/route.ts";
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import { contentOf } from "./endpoint-content.ts";
import type { WorkerReasonCode } from "../../../kernel/core/workers/worker-reason.ts";
import { launchHash } from "../../../kernel/engine/endpoints/launch-hash.ts";
import { isSleeping, isStarting } from "../../../kernel/engine/workers/worker-registry.ts";
import type { WorkerView } from "../../../kernel/engine/workers/worker-views.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../../kernel/http/exchange/format.ts";

/** Reasons for which a worker waits for a machine. */
const NO_MACHINE: ReadonlySet<WorkerReasonCode> = new Set(["unschedulable", "queued", "no_gpu_free"]);

export async function list(call: Call<"endpoint">): Promise<AnswerOf<typeof LIST_MANAGED_WORKERS>> {
	const endpoint = call.engine.endpoints.get(call.params.endpoint);
	const views = await call.engine.workers.views(endpoint.id);
	const current = launchHash(endpoint);
	const workers = views
		.toSorted((a, b) => a.createdAt - b.createdAt)
		.map((worker) => workerJson(call, worker, { endpoint, current }));
	const count = (status: ManagedStatus): number => workers.filter((worker) => worker.status === status).length;
	const summary = {
		running: count("RUNNING"),
		idle: count("IDLE"),
		initializing: count("INITIALIZING"),
		throttled: count("THROTTLED"),
		unhealthy: count("UNHEALTHY"),
		total: workers.length,
	};
	return { workers, summary, endpointVersion: call.engine.releases.current(endpoint.id).version };
}

function workerJson(
	{ engine }: Call,
	worker: WorkerView,
	{ endpoint, current }: { endpoint: Endpoint; current: string },
): ManagedWorker {
	const { id, createdAt, gpus, launchedAs } = worker;
	const isStale = launchedAs !== undefined && launchedAs !== current;
	const isLaunched = launchedAs !== undefined;
	return {
		id,
		status: statusOf(worker),
		isStale,
		gpuCount: gpus.length > 0 ? gpus.length : isLaunched ? endpoint.gpusPerWorker : 0,
		version: engine.endpoints.releaseOf(endpoint.id, worker.launchedAs) ?? null,
		image: isLaunched && !isStale ? contentOf(endpoint).image : null,
		uptimeSeconds: Math.max(0, Math.floor((engine.now() - createdAt) / 1000)),
		gpuTypeId: null,
		dataCenterId: "local",
		startedAt: isoJobTime(engine, createdAt),
	};
}

function statusOf(worker: WorkerView): ManagedStatus {
	const { unhealthy, jobs, notice } = worker;
	if (unhealthy) return "UNHEALTHY";
	if (jobs.length > 0) return "RUNNING";
	if (!isStarting(worker) || isSleeping(worker)) return "IDLE";
	return notice && NO_MACHINE.has(notice.code) ? "THROTTLED" : "INITIALIZING";
}
