/**
 * `/stream/{job}` in its three forms: the specification's array, the SDKs' object, server-sent
 * events (D7).
 */
import { isFinal } from "../../core/job-states.ts";
import type { JsonPieces } from "../../core/json/json-text.ts";
import { jobView } from "../../core/job-view.ts";
import type { StreamPart } from "../../engine/jobs/stream.ts";
import { connected, drained, query } from "../call.ts";
import type { Call } from "../call.ts";
import { valueOf, whole } from "../params.ts";
import { jsonWritten } from "../reply.ts";
import { STREAM_WAIT, waitMs } from "./wait-param.ts";

/** A comment line goes out at least this often, ms, so that proxies keep the connection. */
const KEEP_ALIVE_MS = 15_000;

/** `?offset=`: read from this chunk, moving no cursor (D7 Delivery). */
export const OFFSET = whole("offset", {
	low: 0,
	high: Number.MAX_SAFE_INTEGER,
	description:
		"Read from the chunk with this number, as often as wanted; without it each chunk is delivered once.",
});

/**
 * Whether a /stream counts as the one delivery of what it answers: events and reads from an offset
 * move nothing (D7 Delivery).
 */
export function delivers(call: Call): boolean {
	return !wantsEvents(call) && !query(call).has(OFFSET.name);
}

function wantsEvents({ req }: Call): boolean {
	return (req.headers.accept ?? "").includes("text/event-stream");
}

/** GET or POST /stream/{job}. */
export async function stream(call: Call): Promise<void> {
	const part = valueOf(call, OFFSET);
	if (wantsEvents(call)) return await events(call, part ?? lastEventId(call));
	const q = {
		endpoint: call.params.endpoint,
		id: call.params.job,
		waitMs: waitMs(call, STREAM_WAIT),
		caller: call.caller,
	};
	const found =
		part === undefined
			? await call.engine.jobs.streamNext(q)
			: await call.engine.jobs.streamFrom({ ...q, from: part });
	await send(call, found);
}

/** Whether the caller is an SDK that needs the object form (D7 Shape). */
function wantsObject({ req, path, params }: Call): boolean {
	return (
		path.startsWith("/sdk/") ||
		req.method === "POST" ||
		(req.headers["user-agent"] ?? "").startsWith("RunPod-") ||
		req.headers["x-request-id"] === params.job
	);
}

async function send(call: Call, { chunks, next, state, delivered }: StreamPart): Promise<void> {
	const array = `[${chunks.join(",")}]`;
	const text = wantsObject(call) ? `{"status":"${state}","stream":${array}}` : array;
	let written = false;
	try {
		written =
			connected(call) &&
			(await jsonWritten(call, text, [
				"Sluice-Job-Status",
				state,
				"Sluice-Next-Offset",
				String(next),
			]));
	} finally {
		await delivered?.(written);
	}
}

async function events(call: Call, from: number): Promise<void> {
	const { res, engine } = call;
	const id = call.params.job;
	const { endpoint } = call.params;
	const first = await engine.jobs.status({ endpoint, id });
	let losses = first.job.returns;
	res.writeHead(200, {
		"Content-Type": "text/event-stream",
		"Cache-Control": "no-cache",
		"X-Accel-Buffering": "no",
	});
	res.flushHeaders();
	for (let at = from; !call.caller.gone; ) {
		const found = await engine.jobs.streamFrom({
			endpoint,
			id,
			waitMs: KEEP_ALIVE_MS,
			caller: call.caller,
			from: at,
		});
		const { job } = await engine.jobs.status({ endpoint, id });
		if (job.returns > losses) res.write("event: restart\ndata: {}\n\n");
		losses = job.returns;
		// Numbers of dropped chunks are never used again, so the last one told is the place to resume
		// from.
		const firstNumber = found.next - found.chunks.length;
		for (const [index, chunk] of found.chunks.entries()) {
			if (!res.write(`id: ${firstNumber + index}\ndata: ${inLines(chunk)}\n\n`))
				await drained(call);
			if (call.caller.gone) return;
		}
		at = Math.max(at, found.next);
		if (found.chunks.length === 0 && !isFinal(found.state)) res.write(": waiting\n\n");
		if (isFinal(found.state)) break;
	}
	if (call.caller.gone) return;
	const last = await engine.jobs.status({ endpoint, id });
	await endWith(call, jobView(last, engine.now()));
}

/** The last event, a large job object as fast as the client reads it. */
async function endWith(call: Call, job: JsonPieces): Promise<void> {
	const { res } = call;
	res.write("event: end\ndata: ");
	for (const piece of typeof job === "string" ? [job] : job) {
		// Line ends are the same bytes in Latin-1, and a character may lie across the edge of a block.
		const written =
			typeof piece === "string"
				? res.write(inLines(piece))
				: res.write(inLines(Buffer.from(piece).toString("latin1")), "latin1");
		if (!written) await drained(call);
	}
	res.end("\n\n");
}

/**
 * JSON text as it stands, which may hold line ends between its values: each line needs a field of
 * its own.
 */
function inLines(text: string): string {
	return text.replace(/\r\n|\r|\n/g, "\ndata: ");
}

function lastEventId({ req }: Call): number {
	const value = req.headers["last-event-id"];
	return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) + 1 : 0;
}
