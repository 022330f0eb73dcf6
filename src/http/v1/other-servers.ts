/** Forwards a request about a worker of another server to the other servers until one answers. */
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import type { Call } from "../call.ts";

/** Marks a forwarded request: it is not forwarded again. */
const FORWARDED = "sluice-forwarded";

/** Headers of the request that are forwarded. */
const SENT = ["authorization", "accept", "last-event-id"] as const;
/** Also forwarded with a console session (D31): its cookie is valid for the host of the page. */
const SENT_WITH_COOKIE = ["cookie", "origin", "host"] as const;
/** Headers of the answer that are returned. */
const RETURNED = ["content-type", "cache-control", "x-accel-buffering"] as const;

/** Has another server answer a request without a body; false if none could. */
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
		// A disconnect on one side ends the other.
		await pipeline(answer, res).catch(() => {});
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
