/** Forwards a request about another server's worker to each other server until one answers. */
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { drained } from "../call.ts";
import type { Call } from "../call.ts";

/** Marks a forwarded request, which is not forwarded again. */
const FORWARDED = "sluice-forwarded";

/** Forwarded request headers. */
const SENT = ["authorization", "accept", "last-event-id"] as const;
/** Also with a console session (D31): its cookie is bound to the page's host. */
const SENT_WITH_COOKIE = ["cookie", "sluice-page-token", "origin", "host"] as const;
/** Returned response headers. */
const RETURNED = ["content-type", "cache-control", "x-accel-buffering"] as const;

/** Forwards a request without a body; false if no server answered 200. */
export async function answeredElsewhere(call: Call): Promise<boolean> {
	const { engine, req, res, caller } = call;
	if (req.headers[FORWARDED] !== undefined) return false;
	for (const { self, url } of engine.cluster.members()) {
		if (self || caller.disconnected) continue;
		const answer = await ask(url, call).catch(() => undefined);
		if (answer?.statusCode !== 200) {
			answer?.resume();
			continue;
		}
		res.writeHead(
			200,
			Object.fromEntries(
				RETURNED.flatMap((name) =>
					answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]],
				),
			),
		);
		res.flushHeaders();
		call.turn?.end();
		// A disconnect on one side ends the other; a client that reads nothing is cut off.
		res.once("close", () => answer.destroy());
		try {
			for await (const part of answer) if (!res.write(part)) await drained(call);
			res.end();
		} catch {
			res.destroy();
		}
		return true;
	}
	return false;
}

function ask(url: string, { req, path, queryText }: Call): Promise<IncomingMessage> {
	const send = url.startsWith("https:") ? httpsRequest : httpRequest;
	const headers: Record<string, string> = { [FORWARDED]: "1" };
	for (const name of [...SENT, ...(req.headers.cookie === undefined ? [] : SENT_WITH_COOKIE)])
		if (req.headers[name] !== undefined) headers[name] = String(req.headers[name]);
	return new Promise((resolve, reject) => {
		send(`${url}${path}?${queryText}`, { method: req.method, headers }, resolve)
			.on("error", reject)
			.end();
	});
}
