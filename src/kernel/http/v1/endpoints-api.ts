/** `/v1/endpoints`: endpoints, for operators (D25, D27, D36, D39). */
import {
	type COMPARE_ENDPOINTS,
	DRY_RUN,
	type Endpoint,
	type GET_ENDPOINT,
	type LIST_ENDPOINTS,
	OVERLAP,
	type PUT_ENDPOINT,
	type RENEW_WEBHOOK_SECRET,
	REPLICAS,
	type WORKER_ENV,
	WORKER_URL,
} from "../../api/endpoints.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import { settingsOf } from "../../core/endpoints/endpoint.ts";
import { MOST_COMPARED } from "../../core/endpoints/endpoint-changes.ts";
import { badQuery, badRequest } from "../../core/errors.ts";
import { isObject } from "../../lib/schema.ts";
import { may } from "../../engine/access/keys.ts";
import type { EndpointEntry } from "../../engine/endpoints/endpoint-registry.ts";
import type { Origin } from "../../engine/endpoints/versions.ts";
import { principalOf } from "../gates/auth.ts";
import { type Call, valueOf } from "../exchange/call.ts";
import { readNothing, readObject } from "../exchange/object-body.ts";
import { isoJobTime } from "../exchange/format.ts";
import { reasonJson } from "./workers-api.ts";

type EndpointAnswer = Promise<AnswerOf<typeof GET_ENDPOINT>>;

export async function list(call: Call): Promise<AnswerOf<typeof LIST_ENDPOINTS>> {
	const visible = [...call.engine.endpoints.all()].filter(({ endpoint }) =>
		may(principalOf(call), "read", endpoint.id),
	);
	return { endpoints: await Promise.all(visible.map((entry) => endpointView(call, entry))) };
}

export async function create(call: Call): EndpointAnswer {
	return await endpointView(call, await call.engine.endpoints.create(await readObject(call), byCaller(call)));
}

function byCaller(call: Call): Origin {
	return { source: "api", by: principalOf(call).keyId };
}

/** Settings, and counts as in `/health`. */
export async function get(call: Call<"endpoint">): EndpointAnswer {
	return await endpointView(call, call.engine.endpoints.entry(call.params.endpoint));
}

/** Takes a JSON merge patch. */
export async function update(call: Call<"endpoint">): EndpointAnswer {
	const patch = await readObject(call);
	return await endpointView(call, await call.engine.endpoints.update(call.params.endpoint, patch, byCaller(call)));
}

/** The settings as a whole. */
export async function put(call: Call<"endpoint">): Promise<AnswerOf<typeof PUT_ENDPOINT>> {
	const { endpoint: id } = call.params;
	const settings = await readObject(call);
	const { isNew, applied, changes } = await call.engine.endpoints.replace(id, settings, {
		dryRun: valueOf(call, DRY_RUN),
		origin: byCaller(call),
	});
	return { id, action: actionOf({ isNew, changes }), applied, changes };
}

function actionOf({ isNew, changes }: { isNew: boolean; changes: readonly object[] }): "create" | "update" | "none" {
	return isNew ? "create" : changes.length > 0 ? "update" : "none";
}

/** A page of a file: one call for many endpoints. */
export async function compare(call: Call): Promise<AnswerOf<typeof COMPARE_ENDPOINTS>> {
	const { endpoints, ...rest } = await readObject(call);
	const [other] = Object.keys(rest);
	if (other !== undefined) throw badRequest([{ field: other, message: "is unknown; the body has endpoints." }]);
	if (!isObject(endpoints) || Object.keys(endpoints).length > MOST_COMPARED) {
		const message = `must be an object with the settings of at most ${MOST_COMPARED} endpoints by id.`;
		throw badRequest([{ field: "endpoints", message }]);
	}
	const found = await call.engine.endpoints.compare(endpoints);
	return {
		applied: false,
		endpoints: found.map((each) => ({
			id: each.id,
			action: actionOf(each),
			applied: false,
			changes: each.changes,
		})),
	};
}

/** Cancels jobs and stops workers. Returns the last state. */
export async function remove(call: Call<"endpoint">): EndpointAnswer {
	await readNothing(call);
	const last = await endpointView(call, call.engine.endpoints.entry(call.params.endpoint));
	await call.engine.endpoints.remove(last.id);
	return last;
}

/** Jobs are queued, not sent to workers (D29). */
export function pause(call: Call<"endpoint">): EndpointAnswer {
	return setPaused(call, true);
}

export function resume(call: Call<"endpoint">): EndpointAnswer {
	return setPaused(call, false);
}

async function setPaused(call: Call<"endpoint">, paused: boolean): EndpointAnswer {
	await readNothing(call);
	return await endpointView(call, await call.engine.endpoints.pause(call.params.endpoint, paused));
}

/** Only this answer has the secret (D21). */
export async function webhookSecret(call: Call<"endpoint">): Promise<AnswerOf<typeof RENEW_WEBHOOK_SECRET>> {
	await readNothing(call);
	const { endpoint } = call.params;
	const overlapMs = valueOf(call, OVERLAP) * 1000;
	const webhookSecret = await call.engine.endpoints.renewWebhookSecret(endpoint, overlapMs);
	return { webhookSecret, formerWebhookSecretUntil: formerUntil(call, endpoint) };
}

/** Variables for an external worker (D36). */
export async function workerEnv(call: Call<"endpoint">): Promise<AnswerOf<typeof WORKER_ENV>> {
	const url = valueOf(call, WORKER_URL);
	if (url === undefined) throw badQuery("url", "", WORKER_URL.bound);
	const { endpoint } = call.params;
	return {
		env: await call.engine.workers.env({ endpoint, url, replicas: valueOf(call, REPLICAS) }),
	};
}

function formerUntil({ engine }: Pick<Call, "engine">, endpoint: string): string | undefined {
	const secret = engine.endpoints.webhookSecret(endpoint);
	return secret.ok ? isoJobTime(engine, secret.former?.until) : undefined;
}

/** Never includes `env` values or the webhook secret. */
async function endpointView(call: Call, { endpoint, paused, createdAt }: EndpointEntry): Promise<Sendable<Endpoint>> {
	const { engine } = call;
	const { jobs, workers } = await engine.metrics.health(endpoint.id);
	const reason = engine.workers.reason(endpoint.id);
	const release = engine.releases.current(endpoint.id);
	return {
		...settingsOf(endpoint),
		webhookSecretSet: engine.endpoints.encryptedSecret(endpoint.id) !== undefined,
		formerWebhookSecretUntil: formerUntil({ engine }, endpoint.id),
		paused,
		createdAt: isoJobTime(engine, createdAt),
		jobs,
		workers,
		version: release.version,
		rolledBack: release.reason,
		reason: reason && reasonJson(call, endpoint.id, reason),
	};
}
