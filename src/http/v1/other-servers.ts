/**
 * What only another server can tell or do, because it is on its machine: the request is put to each
 * of them until one answers.
 */
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import type { Call } from "../call.ts";

/** Tells that the request comes from another server: it is not passed on again. */
const FORWARDED = "sluice-forwarded";

/** Headers of the request that go along. */
const SENT = ["authorization", "accept", "last-event-id"] as const;
/**
 * Those that a session of the console needs (D31): its cookie counts for pages of the host that the
 * browser asked.
 */
const SENT_WITH_COOKIE = ["cookie", "origin", "host"] as const;
/** Headers of the answer that come back. */
const RETURNED = ["content-type", "cache-control", "x-accel-buffering"] as const;

/** Has one of the other servers answer a request without a body; false when none of them could. */
export async function answeredElsewhere(call: Call): Promise<boolean> {
	const { engine, req, res, caller } = call;
	if (req.headers[FORWARDED] !== undefined) return false;
	for (const { self, url } of engine.cluster.members()) {
		if (self || caller.gone) continue;
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
		// A client that leaves, or a server that dies, ends the other side.
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
