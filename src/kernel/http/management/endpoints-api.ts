/** `/v2/serverless`: endpoints for clients of RunPod's management API (D49). */
import { CREATE_MANAGED, type GET_MANAGED, type LIST_MANAGED, UPDATE_MANAGED } from "../../api/management/endpoints.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { unprocessable } from "../../core/errors.ts";
import { contentOf } from "../../core/management/endpoint-content.ts";
import { isReserved } from "../../core/management/reserved-ids.ts";
import type { EndpointEntry } from "../../engine/endpoints/endpoint-registry.ts";
import type { ManagedRequest } from "../../engine/management/endpoints.ts";
import { principalOf } from "../gates/auth.ts";
import type { Call } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import { isEncrypted } from "../server/tls.ts";
import { paged, readManaged } from "./exchange.ts";

type Managed = AnswerOf<typeof GET_MANAGED>;

export function list(call: Call): AnswerOf<typeof LIST_MANAGED> {
	const { items, pagination } = paged(call, {
		items: call.engine.endpoints.all(),
		keyOf: ({ endpoint: { id }, createdAt }) => ({ createdAt, id }),
	});
	return { endpoints: items.map((entry) => managedView(call, entry)), pagination };
}

export async function create(call: Call): Promise<Managed> {
	const { type: _, ...request } = await readManaged(call, CREATE_MANAGED.body.schema);
	if ((request["image"] ?? request["templateId"] ?? null) === null)
		throw unprocessable([{ field: "image", message: "is missing; it must be text, unless templateId is given." }]);
	return managedView(call, await call.engine.managed.create(request as ManagedRequest, principalOf(call).keyId));
}

export function get(call: Call<"endpoint">): Managed {
	return managedView(call, call.engine.endpoints.entry(call.params.endpoint));
}

export async function update(call: Call<"endpoint">): Promise<Managed> {
	const request = await readManaged(call, UPDATE_MANAGED.body.schema);
	const { keyId } = principalOf(call);
	return managedView(call, await call.engine.managed.update(call.params.endpoint, request as ManagedRequest, keyId));
}

export async function remove({ engine, params }: Call<"endpoint">): Promise<void> {
	await engine.managed.remove(params.endpoint);
}

function managedView(call: Call, { endpoint, createdAt }: EndpointEntry): Managed {
	const { id } = endpoint;
	const base = `${addressOf(call)}${isReserved(id) ? "/sdk" : ""}/v2/${id}`;
	const requestUrls = {
		run: `${base}/run`,
		runSync: `${base}/runsync`,
		status: `${base}/status/{job_id}`,
		stream: `${base}/stream/{job_id}`,
		cancel: `${base}/cancel/{job_id}`,
		retry: `${base}/retry/{job_id}`,
		purgeQueue: `${base}/purge-queue`,
		health: `${base}/health`,
	};
	return {
		id,
		type: "QUEUE",
		requestUrls,
		...contentOf(endpoint),
		createdAt: isoJobTime(call.engine, createdAt),
	};
}

/** `publicUrl`, else the address that the request used. */
function addressOf({ req, service: { publicUrl } }: Call): string {
	if (publicUrl) return publicUrl.href.replace(/\/$/, "");
	return `http${isEncrypted(req) ? "s" : ""}://${req.headers.host ?? ""}`;
}
