/** `/v1/feed`: all endpoints, live, as server-sent events (D39). */
import { ENDPOINT_FILTER } from "../../kernel/api/definition/params.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { holderNow, permit, principalOf } from "../../kernel/http/gates/auth.ts";
import { type Call, connected, drained, isHead, valueOf } from "../../kernel/http/exchange/call.ts";
import { headOnly } from "../../kernel/http/exchange/reply.ts";
import { EVENT_STREAM } from "../../kernel/http/exchange/server-sent-events.ts";
import type { liveFeed } from "./live-feed.ts";
import { INTERVAL } from "./routes.ts";

/**
 * `overview` now and after each change, a comment after 15 s without one. Ends when the server drains or the
 * caller's key or session ends.
 */
export async function sendFeed(call: Call, { listen }: Pick<ReturnType<typeof liveFeed>, "listen">): Promise<void> {
	const { engine, res, caller } = call;
	const principal = principalOf(call);
	const endpoint = valueOf(call, ENDPOINT_FILTER);
	const intervalMs = valueOf(call, INTERVAL) * 1000;
	if (endpoint !== undefined) {
		permit(principal, "read", endpoint);
		await engine.endpoints.find(endpoint);
	}
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	if (caller.disconnected) return;
	if (isHead(call)) return headOnly(res, EVENT_STREAM);
	let unread: Promise<undefined> | undefined;
	res.writeHead(200, EVENT_STREAM);
	res.flushHeaders();
	caller.onDisconnect = listen({
		principal: async () => (await holderNow(call))?.principal,
		endpoint,
		intervalMs,
		send(overview) {
			// Slow readers miss intermediate states. A client that reads nothing is cut off.
			if (connected(call) && res.writableNeedDrain) unread ??= drained(call).then(() => (unread = undefined));
			if (!connected(call) || unread) return false;
			const event = `event: overview\ndata: ${overview}\n\n`;
			res.write(overview === undefined ? ": nothing new\n\n" : event);
			return true;
		},
		closed: () => res.end(),
	});
}
