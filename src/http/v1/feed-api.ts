/** `/v1/feed`: all endpoints as they are now, as server-sent events (D39). */
import { ApiError } from "../../core/errors.ts";
import { permit, principalOf } from "../auth.ts";
import { connected } from "../call.ts";
import type { Call } from "../call.ts";
import { text, valueOf, whole } from "../params.ts";

export const ENDPOINT = text("endpoint", 64, "Only this endpoint.");
export const INTERVAL = whole("interval", {
	low: 1,
	high: 60,
	otherwise: 2,
	description: "Seconds between two events, at least.",
});

/**
 * GET /v1/feed: an event `overview` at once, and another one whenever something has changed; a
 * comment when nothing has for 15 s. It ends with the server's drain and with the caller's key.
 */
export async function feed(call: Call): Promise<void> {
	const { engine, res, caller } = call;
	const principal = principalOf(call);
	const [endpoint, interval = 2] = [valueOf(call, ENDPOINT), valueOf(call, INTERVAL)];
	if (endpoint !== undefined) {
		permit(principal, "read", endpoint);
		await engine.endpoints.find(endpoint);
	}
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	if (caller.gone) return;
	res.writeHead(200, {
		"Content-Type": "text/event-stream",
		"Cache-Control": "no-cache",
		"X-Accel-Buffering": "no",
	});
	res.flushHeaders();
	caller.left = engine.metrics.listen({
		keyId: principal.keyId,
		endpoint,
		intervalMs: interval * 1000,
		hear(told) {
			// Who reads slowly misses what is old meanwhile.
			if (!connected(call) || res.writableNeedDrain) return false;
			res.write(told === undefined ? ": nothing new\n\n" : `event: overview\ndata: ${told}\n\n`);
			return true;
		},
		over: () => res.end(),
	});
}
