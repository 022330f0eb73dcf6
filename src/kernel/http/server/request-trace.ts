/** The trace of a request: of its client, or one that begins here (D52). */
import type { IncomingMessage } from "node:http";
import type { RouteDefinition } from "../../api/definition/route.ts";
import type { Span } from "../../core/tracing/span.ts";
import { readTraceparent, type TraceContext } from "../../core/tracing/trace-context.ts";
import type { Traces } from "../../engine/tracing/traces.ts";
import type { Response } from "../exchange/response.ts";

export interface RequestTrace {
	/** The parent of what the request causes. */
	context: TraceContext;
	/** Absent if the request is not recorded. Handlers add attributes. */
	span?: Omit<Span, "end" | "error"> & { attributes: Record<string, string | number> };
}

/** Undefined without a `traceparent` if no trace begins here. Polls of workers have no spans. */
export function beginTrace(
	req: IncomingMessage,
	route: Pick<RouteDefinition, "access" | "path">,
	traces: Traces,
): RequestTrace | undefined {
	const { traceparent, tracestate } = req.headers;
	const { tracer } = traces;
	if ((traceparent === undefined && !tracer) || route.access === "worker" || route.access === "anyone")
		return undefined;
	const client = typeof traceparent === "string" ? readTraceparent(traceparent, tracestate?.toString()) : undefined;
	const ids = traces.newIds(client);
	if (!tracer?.samples(ids.traceId, client))
		return client && { context: tracer ? { ...client, isSampled: false } : client };
	const method = req.method ?? "";
	const name = `${method} ${route.path}`;
	const attributes = { "http.request.method": method, "http.route": route.path };
	const span = {
		...ids,
		parentId: client?.spanId,
		state: client?.state,
		name,
		kind: "server" as const,
		start: traces.now(),
		attributes,
	};
	return { context: { ...ids, isSampled: true, state: client?.state }, span };
}

export function endTrace({ span }: RequestTrace, res: Response, traces: Traces): void {
	const { statusCode: status, loggedRequestId: id } = res;
	if (!span) return;
	const attributes = { ...span.attributes, "http.response.status_code": status, "sluice.request.id": id };
	traces.tracer?.record({ ...span, end: traces.now(), attributes, ...(status >= 500 && { error: String(status) }) });
}
