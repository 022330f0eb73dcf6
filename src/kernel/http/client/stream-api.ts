/** `/stream/{job}` in three forms: an array, an object for SDKs, server-sent events (D7). */
import { OFFSET, STREAM_WAIT } from "../../api/jobs.ts";
import type { Job } from "../../core/jobs/job.ts";
import { isFinal } from "../../core/jobs/job-states.ts";
import type { JsonPieces } from "../../lib/json/json-text.ts";
import { jobView } from "../../core/jobs/job-view.ts";
import { may } from "../../engine/access/keys.ts";
import type { Follower } from "../../engine/jobs/stream/live-chunks.ts";
import type { StreamPart } from "../../engine/jobs/stream/stream.ts";
import { principalOf } from "../gates/auth.ts";
import { type Call, connected, drained, isHead, query, valueOf } from "../exchange/call.ts";
import { admitOutput, mustRead } from "../exchange/answer.ts";
import { boundedReads } from "../memory/bounded-reads.ts";
import { hold } from "../memory/call-memory.ts";
import { headOnly, JSON_HEADERS, jsonWritten } from "../exchange/reply.ts";
import { EVENT_STREAM, lastEventId, wantsEvents } from "../exchange/server-sent-events.ts";

/** Maximum silence, because proxies close idle connections, ms. */
const KEEP_ALIVE_MS = 15_000;

/** Maximum chunk bytes of one answer (D7 Size) and of one read for events. */
const ANSWER_BYTES = 16 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

/** Whether the cursor moves: not for events and reads by offset (D7 Delivery). */
export function delivers(call: Call): boolean {
	return !isHead(call) && !wantsEvents(call.req) && !query(call).has(OFFSET.name);
}

export async function stream(call: Call<"endpoint" | "job">): Promise<void> {
	const offset = valueOf(call, OFFSET);
	if (isHead(call)) return await headers(call);
	if (wantsEvents(call.req)) return await events(call, offset ?? (lastEventId(call.req) ?? -1) + 1);
	// The cursor belongs to those who may change the job (D30).
	const from = offset ?? (may(principalOf(call), "write") ? undefined : 0);
	const q = {
		endpoint: call.params.endpoint,
		id: call.params.job,
		waitMs: valueOf(call, STREAM_WAIT),
		caller: call.caller,
		bounded: boundedReads(call, ANSWER_BYTES),
	};
	const found =
		from === undefined ? await call.engine.jobs.streamNext(q) : await call.engine.jobs.streamFrom({ ...q, from });
	await send(call, found);
}

/** Answers HEAD without what depends on the chunks. */
async function headers(call: Call<"endpoint" | "job">): Promise<void> {
	const { job } = await call.engine.jobs.status({ endpoint: call.params.endpoint, id: call.params.job });
	if (wantsEvents(call.req)) headOnly(call.res, EVENT_STREAM);
	else headOnly(call.res, { ...JSON_HEADERS, "Sluice-Job-Status": job.state });
}

/** User agents of RunPod's JavaScript SDK and MCP server. */
const SDK_AGENT = /^(?:RunPod-|runpod-mcp-server\/)/;

/** SDKs get the object (D7 Shape). */
function wantsObject({ req, path, params }: Call<"job">): boolean {
	return (
		path.startsWith("/sdk/") ||
		req.method === "POST" ||
		SDK_AGENT.test(req.headers["user-agent"] ?? "") ||
		req.headers["x-request-id"] === params.job
	);
}

async function send(call: Call<"job">, { chunks, next, state, delivered }: StreamPart): Promise<void> {
	const array = `[${chunks.join(",")}]`;
	const text = wantsObject(call) ? `{"status":"${state}","stream":${array}}` : array;
	let written = false;
	if (chunks.length > 0) mustRead(call);
	try {
		written =
			connected(call) &&
			(await jsonWritten(call, text, ["Sluice-Job-Status", state, "Sluice-Next-Offset", String(next)]));
	} finally {
		await delivered?.(written);
	}
}

async function events(call: Call<"endpoint" | "job">, from: number): Promise<void> {
	const { engine, caller, params } = call;
	const job = { endpoint: params.endpoint, id: params.job };
	const first = await engine.jobs.status(job);
	call.res.writeHead(200, EVENT_STREAM);
	call.res.flushHeaders();
	const follower = engine.jobs.follow(job);
	try {
		await sendChunks(call, { from, follower, first: first.job });
	} finally {
		follower.close();
	}
	if (caller.disconnected) return;
	const last = await engine.jobs.status({ ...job, output: admitOutput(call) });
	await endWith(call, jobView(last, engine.now()));
}

async function sendChunks(
	call: Call<"endpoint" | "job">,
	q: { from: number; follower: Follower; first: Pick<Job, "attempt" | "returns"> },
): Promise<void> {
	const { res, engine, caller, params } = call;
	const job = { endpoint: params.endpoint, id: params.job };
	const bounded = boundedReads(call, READ_BYTES);
	const { follower } = q;
	let seen = q.first;
	/** Whether the reader has chunks of the attempt that was seen. */
	let hasChunks = q.from > 0 && seen.attempt > 0;
	for (let at = q.from; !caller.disconnected; ) {
		const found = await engine.jobs.streamFrom({
			...job,
			waitMs: KEEP_ALIVE_MS,
			caller,
			bounded,
			from: at,
			follower,
		});
		if (found.attempt === undefined || found.attempt !== seen.attempt) {
			const now = await engine.jobs.status(job);
			// A job whose worker an operator ended counts as no return: it begins again with the next attempt.
			if (now.job.returns > seen.returns || (hasChunks && now.job.attempt > seen.attempt)) {
				res.write("event: restart\ndata: {}\n\n");
				hasChunks = false;
			}
			seen = now.job;
		}
		// Numbers of dropped chunks are not reused: clients resume after the last number sent.
		const firstNumber = found.next - found.chunks.length;
		hasChunks ||= found.chunks.length > 0;
		for (const [index, chunk] of found.chunks.entries()) {
			if (!res.write(`id: ${firstNumber + index}\ndata: ${inLines(chunk)}\n\n`)) await drained(call);
			if (caller.disconnected) return;
		}
		await drained(call);
		await hold(call, 0);
		at = Math.max(at, found.next);
		if (found.chunks.length === 0 && !isFinal(found.state)) res.write(": waiting\n\n");
		if (isFinal(found.state)) return;
	}
}

/** Large jobs are written at the client's pace. */
async function endWith(call: Call, job: JsonPieces): Promise<void> {
	const { res } = call;
	res.write("event: end\ndata: ");
	for (const piece of typeof job === "string" ? [job] : job) {
		// Blocks may split a character. Latin-1 keeps the bytes, and its line ends are the same.
		const written =
			typeof piece === "string"
				? res.write(inLines(piece))
				: res.write(inLines(Buffer.from(piece).toString("latin1")), "latin1");
		if (!written) await drained(call);
	}
	res.end("\n\n");
}

/** JSON may have line ends between values: one `data` field per line. */
function inLines(text: string): string {
	return text.replace(/\r\n|\r|\n/g, "\ndata: ");
}
