/** Workers of an endpoint, for operators (D28, D39). */
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import {
	ENDED,
	type EndedWorker as EndedJson,
	type LIST_WORKERS,
	type START_WORKERS,
	type STOP_WORKER,
	USAGE,
	type Worker,
	type WorkerReason as ReasonJson,
} from "../../api/workers.ts";
import { ApiError } from "../../core/errors.ts";
import { type EndedWorker, errorLine, type RoomTime } from "../../core/workers/ended-worker.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { WorkerUsage } from "../../core/workers/worker-usage.ts";
import { may } from "../../engine/access/keys.ts";
import type { Engine } from "../../engine/engine.ts";
import { isSleeping, isStarting, roomOf } from "../../engine/workers/worker-registry.ts";
import { principalOf } from "../gates/auth.ts";
import { valueOf, type Call } from "../exchange/call.ts";
import { pinglessText } from "../../core/workers/pingless.ts";
import { sharedIdText } from "../../core/workers/shared-id.ts";
import { reasonIn, type WorkerView } from "../../engine/workers/worker-views.ts";
import { readNothing } from "../exchange/object-body.ts";
import { isoJobTime } from "../exchange/format.ts";
import { answeredElsewhere } from "../server/other-servers.ts";

/** Workers of all servers, oldest first. */
export async function list(call: Call<"endpoint">): Promise<AnswerOf<typeof LIST_WORKERS>> {
	const { endpoint } = call.params;
	const views = await call.engine.workers.views(endpoint);
	const usage = valueOf(call, USAGE) ? await call.engine.workers.usage(endpoint) : undefined;
	const ended = valueOf(call, ENDED) ? await call.engine.workers.ended(endpoint) : undefined;
	return {
		workers: views
			.toSorted((a, b) => a.createdAt - b.createdAt)
			.map((each) => workerJson(call, each, usage?.get(each.id))),
		ended: ended?.map((each) => endedWorkerJson(call, each)),
	};
}

/**
 * The worker gets no more jobs and is stopped once it holds none. Forwarded if it belongs to another server. Throws
 * `worker_gone` and `worker_not_launched`.
 */
export async function stop(call: Call<"endpoint" | "worker">): Promise<AnswerOf<typeof STOP_WORKER> | void> {
	await readNothing(call);
	const { endpoint, worker } = call.params;
	if (await call.engine.workers.stop({ endpoint, id: worker })) return {};
	if (!(await answeredElsewhere(call))) throw new ApiError("worker_gone", { endpoint, worker });
}

/**
 * Ends a pause of starts. Forwarded to the server that starts the workers. Throws `workers_external` and
 * `not_ready`.
 */
export async function start(call: Call<"endpoint">): Promise<AnswerOf<typeof START_WORKERS> | void> {
	await readNothing(call);
	const { endpoint } = call.params;
	if (call.engine.workers.start(endpoint)) return {};
	if (await answeredElsewhere(call)) return;
	throw new ApiError("not_ready", { why: `does not start the workers of endpoint '${endpoint}'` });
}

/** Output is for admin keys only, like logs. */
export function endedWorkerJson(call: Call<"endpoint">, worker: EndedWorker): Sendable<EndedJson> {
	const { engine, params } = call;
	const { endpoint: _, lastOutput, createdAt, readyAt, room, endedAt, ...rest } = worker;
	const admin = may(principalOf(call), "admin", params.endpoint);
	return {
		...rest,
		createdAt: isoJobTime(engine, createdAt),
		readyAt: isoJobTime(engine, readyAt),
		room: roomJson(engine, room),
		endedAt: isoJobTime(engine, endedAt),
		lastLine: admin && rest.code !== undefined ? errorLine(lastOutput) : undefined,
		lastOutput: admin ? lastOutput : undefined,
	};
}

export function reasonJson(call: Call, endpoint: string, reason: WorkerReason): Sendable<ReasonJson> {
	const { lastLine, retryAt, ...rest } = reason;
	return {
		...rest,
		retryAt: isoJobTime(call.engine, retryAt),
		lastLine: may(principalOf(call), "admin", endpoint) ? lastLine : undefined,
	};
}

function workerJson(call: Call<"endpoint">, worker: WorkerView, usage: WorkerUsage | undefined): Sendable<Worker> {
	const { engine, params } = call;
	const { id, launcher, host, createdAt, readyAt, seenAt, jobs, gpus, gpuMemoryGb, version, notice, excess, pingless } =
		worker;
	const shared = engine.workers.allViews.sharedId({ endpoint: params.endpoint, id });
	const { leaseMs } = engine.endpoints.get(params.endpoint);
	const warnings = [shared && sharedIdText(id), pingless ? `worker ${id} ${pinglessText(leaseMs)}` : undefined].filter(
		(text) => text !== undefined,
	);
	const reason = notice ? reasonIn(notice) : excess;
	return {
		id,
		state: stateOf(worker),
		launcher,
		createdAt: isoJobTime(engine, createdAt),
		readyAt: isoJobTime(engine, readyAt),
		room: roomJson(engine, roomOf(worker)),
		seenAt: isoJobTime(engine, seenAt),
		jobs,
		gpus: gpus.length > 0 ? gpus : undefined,
		gpuMemoryGb,
		release: engine.endpoints.releaseOf(params.endpoint, worker.launchedAs),
		version,
		reason: reason && reasonJson(call, params.endpoint, reason),
		warning: warnings.length > 0 ? warnings.join(" ") : undefined,
		host,
		usage,
	};
}

function roomJson(engine: Engine, room: RoomTime | undefined): Worker["room"] {
	return room && { since: isoJobTime(engine, room.since), until: isoJobTime(engine, room.until) };
}

function stateOf(worker: WorkerView): Worker["state"] {
	const { draining, unhealthy, jobs } = worker;
	if (draining) return "stopping";
	if (unhealthy) return "unhealthy";
	if (jobs.length > 0) return "running";
	if (isSleeping(worker)) return "asleep";
	return isStarting(worker) ? "initializing" : "idle";
}
