/** `/v2/serverless`: endpoints for clients of RunPod's management API (D49). */
import { CREATE_MANAGED, type GET_MANAGED, type LIST_MANAGED, UPDATE_MANAGED } from "../routes/endpoints.ts";
import type { AnswerOf } from "../../../kernel/api/definition/route.ts";
import { unprocessable } from "../errors.ts";
import { contentOf } from "./endpoint-content.ts";
import { isReserved } from "../../../kernel/core/endpoints/reserved-ids.ts";
import type { EndpointEntry } from "../../../kernel/engine/endpoints/endpoint-registry.ts";
import type { ManagedEndpoints, ManagedRequest } from "./managed-endpoints.ts";
import { principalOf } from "../../../kernel/http/gates/auth.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../../kernel/http/exchange/format.ts";
import { isEncrypted } from "../../../kernel/http/server/tls.ts";
import { paged, readManaged } from "../exchange.ts";

type Managed = AnswerOf<typeof GET_MANAGED>;

export function endpointHandlers(managed: ManagedEndpoints) {
	return {
		list(call: Call): AnswerOf<typeof LIST_MANAGED> {
			const { items, pagination } = paged(call, {
				items: call.engine.endpoints.all(),
				keyOf: ({ endpoint: { id }, createdAt }) => ({ createdAt, id }),
			});
			return { endpoints: items.map((entry) => managedView(call, entry)), pagination };
		},

		async create(call: Call): Promise<Managed> {
			const { type: _, ...request } = await readManaged(call, CREATE_MANAGED.body.schema);
			if ((request["image"] ?? request["templateId"] ?? null) === null)
				throw unprocessable([{ field: "image", message: "is missing; it must be text, unless templateId is given." }]);
			return managedView(call, await managed.create(request as ManagedRequest, principalOf(call).keyId));
		},

		get: (call: Call<"endpoint">): Managed => managedView(call, call.engine.endpoints.entry(call.params.endpoint)),

		async update(call: Call<"endpoint">): Promise<Managed> {
			const request = await readManaged(call, UPDATE_MANAGED.body.schema);
			const { keyId } = principalOf(call);
			return managedView(call, await managed.update(call.params.endpoint, request as ManagedRequest, keyId));
		},

		remove: ({ params }: Call<"endpoint">): Promise<void> => managed.remove(params.endpoint),
	};
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
