/** Forwards requests to other servers of the store. */
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { traceparentOf } from "../../core/trace.ts";
import { warmupId } from "../../core/jobs/job.ts";
import { type Call, drained, paramOf } from "../exchange/call.ts";
import { json } from "../exchange/reply.ts";
import { POSTED } from "../worker/worker-api.ts";

const FORWARDED = "sluice-forwarded";

const SENT = ["authorization", "accept", "last-event-id", "sluice-run"] as const;
/** Forwarded only with a console session (D31), whose cookie is bound to the page's host. */
const SENT_WITH_COOKIE = ["cookie", "sluice-page-token", "origin", "host"] as const;
const RETURNED = [
	"content-type",
	"cache-control",
	"x-accel-buffering",
	"retry-after",
	"sluice-job-done-batch",
	"sluice-job-stream-batch",
	"sluice-job-return",
] as const;

/** Forwards requests without a body. False if no server answered 200. */
export async function answeredElsewhere(call: Call): Promise<boolean> {
	const { engine, req, caller } = call;
	if (req.headers[FORWARDED] !== undefined) return false;
	for (const { self, url } of engine.cluster.members()) {
		if (self || caller.disconnected) continue;
		const answer = await ask(url, call).catch(() => undefined);
		if (answer?.statusCode !== 200) {
			answer?.resume();
			continue;
		}
		await passOn(answer, call);
		return true;
	}
	return false;
}

/** The 200 answers of all other servers. None if the request was forwarded. */
export async function answersElsewhere<A>(call: Call, signal: AbortSignal): Promise<A[]> {
	const { engine, req } = call;
	if (req.headers[FORWARDED] !== undefined) return [];
	const others = engine.cluster.members().filter(({ self }) => !self);
	const answers = await Promise.allSettled(
		others.map(async ({ url }) => {
			const answer = await ask(url, call, signal);
			const text = Buffer.concat(await answer.toArray()).toString();
			return answer.statusCode === 200 ? [JSON.parse(text) as A] : [];
		}),
	);
	return answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
}

/**
 * Forwards a poll, a ping or a post on a warm-up to the server that scales the worker's endpoint. If that server does
 * not answer, this one answers; the post then has no effect.
 */
export function answeredByScaler(call: Call): Promise<"answered" | void> | void {
	const { engine, req } = call;
	const isRead = req.method === "GET" || paramOf(call, "job") === warmupId(paramOf(call, "worker"));
	if (!isRead || req.headers[FORWARDED] !== undefined) return;
	const url = engine.workers.scaledAt(paramOf(call, "endpoint"));
	if (url !== undefined) return answeredAt(url, call);
}

async function answeredAt(url: string, call: Call): Promise<"answered" | void> {
	const { caller } = call;
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	const isPost = call.req.method === "POST";
	const answer = await ask(url, call, left.signal, isPost).catch(() => undefined);
	caller.onDisconnect = undefined;
	if (answer) await passOn(answer, call);
	else if (isPost) json(call.res, POSTED);
	if (isPost) {
		// The other server may have answered without reading the rest of the body.
		call.req.unpipe();
		left.abort();
		call.req.resume();
	}
	if (answer || isPost || caller.disconnected) return "answered";
}

/** A disconnect on one side ends the other. A client that reads nothing is cut off. */
async function passOn(answer: IncomingMessage, call: Call): Promise<void> {
	const { res } = call;
	const headers = RETURNED.flatMap((name) =>
		answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]],
	);
	res.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
	res.flushHeaders();
	call.holds.turn?.end();
	res.once("close", () => answer.destroy());
	try {
		for await (const part of answer) if (!res.write(part)) await drained(call);
		res.end();
	} catch {
		res.destroy();
	}
}

function ask(
	url: string,
	{ req, res, path, queryText, trace }: Call,
	signal?: AbortSignal,
	withBody = false,
): Promise<IncomingMessage> {
	const send = url.startsWith("https:") ? httpsRequest : httpRequest;
	const headers: Record<string, string> = {
		[FORWARDED]: "1",
		"x-request-id": res.requestId,
		...(trace && { traceparent: traceparentOf(trace.context) }),
	};
	for (const name of [...SENT, ...(req.headers.cookie === undefined ? [] : SENT_WITH_COOKIE)])
		if (req.headers[name] !== undefined) headers[name] = String(req.headers[name]);
	return new Promise((resolve, reject) => {
		const sent = send(`${url}${path}?${queryText}`, { method: req.method, headers, ...(signal && { signal }) });
		sent.on("response", resolve).on("error", reject);
		if (withBody) req.pipe(sent);
		else sent.end();
	});
}
