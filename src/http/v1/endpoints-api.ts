/** `/v1/endpoints`: endpoints and their workers, for operators (D25, D27, D36, D39). */
import { settingsOf } from "../../core/endpoint.ts";
import { badQuery } from "../../core/errors.ts";
import { sdkWarning } from "../../core/workers/sdk-version.ts";
import { may } from "../../engine/access/keys.ts";
import type { EndpointEntry } from "../../engine/endpoints/endpoint-registry.ts";
import type { WorkerView } from "../../engine/workers/worker-views.ts";
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { valueOf, yes } from "../params.ts";
import type { Param } from "../params.ts";
import { json } from "../reply.ts";
import { readNothing, readObject } from "./body.ts";
import { moment } from "./time.ts";

/** Most characters of the address: to cut slashes from its end takes the square of their number. */
const URL_LONGEST = 2048;

/** `worker-env?url=`, `?replicas=` (D36). */
export const WORKER_URL: Param<string> = {
	name: "url",
	required: true,
	description: "Address under which the worker reaches this service.",
	bound: `the http or https address under which workers reach this service, of at most ${URL_LONGEST} characters`,
	schema: { type: "string", format: "uri", maxLength: URL_LONGEST },
	read: (text) =>
		text.length <= URL_LONGEST && /^https?:\/\/[^\s?#]+$/.test(text) && URL.canParse(text)
			? text.replace(/\/+$/, "")
			: undefined,
};
export const REPLICAS = yes(
	"replicas",
	"A token for many workers, each with an id of its own, instead of for one.",
);

/** GET /v1/endpoints: `{endpoints}`, those that the key may use. */
export async function list(call: Call): Promise<void> {
	const visible = [...call.engine.endpoints.all()].filter(({ endpoint }) =>
		may(principalOf(call), "read", endpoint.id),
	);
	const endpoints = await Promise.all(visible.map((known) => shown(call, known)));
	json(call.res, JSON.stringify({ endpoints }));
}

/** POST /v1/endpoints: makes one of settings and perhaps an `id`; 201, the endpoint. */
export async function create(call: Call): Promise<void> {
	const made = await call.engine.endpoints.create(await readObject(call));
	json(call.res, JSON.stringify(await shown(call, made)), [], 201);
}

/**
 * GET /v1/endpoints/{endpoint}: settings, whether it is paused, counts of jobs and workers as in
 * `/health`.
 */
export async function get(call: Call): Promise<void> {
	json(
		call.res,
		JSON.stringify(await shown(call, call.engine.endpoints.entry(call.params.endpoint))),
	);
}

/**
 * PATCH /v1/endpoints/{endpoint}: a JSON merge patch on the settings; the endpoint as it is now.
 */
export async function update(call: Call): Promise<void> {
	const changed = await call.engine.endpoints.update(call.params.endpoint, await readObject(call));
	json(call.res, JSON.stringify(await shown(call, changed)));
}

/** DELETE /v1/endpoints/{endpoint}: cancels its jobs, ends its workers; the endpoint as it was. */
export async function remove(call: Call): Promise<void> {
	await readNothing(call);
	const last = await shown(call, call.engine.endpoints.entry(call.params.endpoint));
	await call.engine.endpoints.remove(last.id);
	json(call.res, JSON.stringify(last));
}

/**
 * POST /v1/endpoints/{endpoint}/pause: jobs are accepted and queued, not handed out (D29); the
 * endpoint.
 */
export async function pause(call: Call): Promise<void> {
	await setPaused(call, true);
}

/** POST /v1/endpoints/{endpoint}/resume: jobs are handed out again; the endpoint. */
export async function resume(call: Call): Promise<void> {
	await setPaused(call, false);
}

async function setPaused(call: Call, paused: boolean): Promise<void> {
	await readNothing(call);
	const known = await call.engine.endpoints.pause(call.params.endpoint, paused);
	json(call.res, JSON.stringify(await shown(call, known)));
}

/**
 * POST /v1/endpoints/{endpoint}/webhook-secret: a new secret for signing webhooks, told this once
 * (D21).
 */
export async function webhookSecret(call: Call): Promise<void> {
	await readNothing(call);
	const secret = await call.engine.webhooks.renewSecret(call.params.endpoint);
	json(call.res, JSON.stringify({ webhookSecret: secret }));
}

/**
 * POST /v1/endpoints/{endpoint}/worker-env: variables for a worker that somebody else starts, with
 * a new token (D36).
 */
export async function workerEnv(call: Call): Promise<void> {
	const url = valueOf(call, WORKER_URL);
	if (url === undefined) throw badQuery("url", "", WORKER_URL.bound);
	const env = await call.engine.workers.env({
		endpoint: call.params.endpoint,
		url,
		replicas: valueOf(call, REPLICAS) ?? false,
	});
	json(call.res, JSON.stringify({ env }));
}

/**
 * GET /v1/endpoints/{endpoint}/workers: `{workers}`, those that any server has heard of, the oldest
 * first.
 */
export async function workers(call: Call): Promise<void> {
	const present = (await call.engine.workers.views(call.params.endpoint)).toSorted(
		(a, b) => a.createdAt - b.createdAt,
	);
	json(call.res, JSON.stringify({ workers: present.map(shownWorker) }));
}

/** What is told of an endpoint: never a value of `env` nor the webhook secret. */
async function shown(
	{ engine }: Call,
	{ endpoint, paused, createdAt }: EndpointEntry,
): Promise<{ id: string } & Record<string, unknown>> {
	const { jobs, workers: counts } = await engine.metrics.health(endpoint.id);
	return {
		...settingsOf(endpoint),
		webhookSecretSet: engine.endpoints.sealedSecret(endpoint.id) !== undefined,
		paused,
		createdAt: moment(createdAt),
		jobs,
		workers: counts,
	};
}

function shownWorker(worker: WorkerView): Record<string, unknown> {
	const { id, launcher, createdAt, seenAt, jobs, gpus, version } = worker;
	const warning = version === undefined ? undefined : sdkWarning(version);
	return {
		id,
		state: stateOf(worker),
		launcher,
		createdAt: moment(createdAt),
		seenAt: moment(seenAt),
		jobs,
		gpus: gpus.length > 0 ? gpus : undefined,
		version,
		warning,
	};
}

function stateOf({ draining, unhealthy, jobs, ready }: WorkerView): string {
	if (draining) return "stopping";
	if (unhealthy) return "unhealthy";
	if (jobs.length > 0) return "running";
	return ready ? "idle" : "initializing";
}
