/** The trace of a request: that of its client, or one that a module begins (D52). */
import type { IncomingMessage } from "node:http";
import type { RouteDefinition } from "../../api/definition/route.ts";
import { readTraceparent, type RequestTrace, type TraceHooks } from "../../core/trace.ts";

/** Returns the trace of a request; polls of workers have none. */
export function requestTrace(
	req: IncomingMessage,
	{ access, path }: Pick<RouteDefinition, "access" | "path">,
	hooks: TraceHooks | undefined,
): RequestTrace | undefined {
	const { traceparent, tracestate } = req.headers;
	if ((traceparent === undefined && !hooks) || access === "worker" || access === "anyone") return undefined;
	const client = typeof traceparent === "string" ? readTraceparent(traceparent, tracestate?.toString()) : undefined;
	return hooks ? hooks.request({ method: req.method ?? "", path, client }) : client && { context: client };
}
