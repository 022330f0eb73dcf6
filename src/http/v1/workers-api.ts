/** Workers of an endpoint, for operators (D28, D39). */
import type { AnswerOf } from "../../api/route.ts";
import type { Sendable } from "../../api/schema.ts";
import type { LIST_WORKERS, STOP_WORKER, Worker } from "../../api/workers.ts";
import { ApiError } from "../../core/errors.ts";
import { sdkWarning } from "../../core/workers/sdk-version.ts";
import { reasonIn } from "../../engine/workers/worker-views.ts";
import type { WorkerView } from "../../engine/workers/worker-views.ts";
import type { Call } from "../call.ts";
import { readNothing } from "./body.ts";
import { isoJobTime } from "./format.ts";
import { answeredElsewhere } from "./other-servers.ts";

/** GET .../workers: those of all servers, oldest first. */
export async function list(call: Call): Promise<AnswerOf<typeof LIST_WORKERS>> {
	const views = await call.engine.workers.views(call.params.endpoint);
	return {
		workers: views
			.toSorted((a, b) => a.createdAt - b.createdAt)
			.map((each) => workerJson(call, each)),
	};
}

/**
 * POST .../workers/{worker}/stop: no more jobs; stopped once it holds none. Answers at once;
 * forwarded if the worker belongs to another server. Throws `worker_gone` and
 * `worker_not_launched`.
 */
export async function stop(call: Call): Promise<AnswerOf<typeof STOP_WORKER> | void> {
	await readNothing(call);
	const { endpoint, worker } = call.params;
	if (await call.engine.workers.stop({ endpoint, id: worker })) return {};
	if (!(await answeredElsewhere(call))) throw new ApiError("worker_gone", { endpoint, worker });
}

function workerJson({ engine }: Call, worker: WorkerView): Sendable<Worker> {
	const { id, launcher, createdAt, seenAt, jobs, gpus, version, notice } = worker;
	return {
		id,
		state: stateOf(worker),
		launcher,
		createdAt: isoJobTime(engine, createdAt),
		seenAt: isoJobTime(engine, seenAt),
		jobs,
		gpus: gpus.length > 0 ? gpus : undefined,
		version,
		reason: notice && reasonIn(notice),
		warning: version === undefined ? undefined : sdkWarning(version),
	};
}

function stateOf({ draining, unhealthy, jobs, ready }: WorkerView): Worker["state"] {
	if (draining) return "stopping";
	if (unhealthy) return "unhealthy";
	if (jobs.length > 0) return "running";
	return ready ? "idle" : "initializing";
}
