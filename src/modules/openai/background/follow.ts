/** Sends the events of a background response, those that exist and those that come (D58). */
import { ApiError } from "../../../kernel/core/errors.ts";
import { isFinal } from "../../../kernel/core/jobs/job-states.ts";
import type { JsonText } from "../../../kernel/lib/json/json-text.ts";
import { type Call, drained } from "../../../kernel/http/exchange/call.ts";
import { refusalOf } from "../../../kernel/http/exchange/reply.ts";
import { EVENT_STREAM } from "../../../kernel/http/exchange/server-sent-events.ts";
import { holdNow } from "../../../kernel/http/memory/call-memory.ts";
import { boundedReads } from "../../../kernel/http/memory/bounded-reads.ts";
import { admitOutput } from "../../../kernel/http/exchange/answer.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { JobRecord } from "../../../kernel/store/contract/jobs.ts";
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";
import { failureBody, failureOfRefusal } from "../error-form.ts";
import { onOneLine } from "../event-text.ts";
import { failureByEnd } from "../failures.ts";
import { CHECK_MS, type JobName, READ_BYTES } from "../reply.ts";
import { slicesOf, waitsAgain } from "../stream.ts";
import { chunkEvents, endingOf, type Reading, resultEvents } from "./ending.ts";
import { eventLog, type LogEvent, ownEvent } from "./event-log.ts";
import { endedAt, ownObject, type Shown } from "./response.ts";

/** Numbers of the events of a response that was not created with `stream`. */
const [IN_PROGRESS, ENDED] = [2, 3];

export interface Following {
	job: JobName;
	shown: Shown;
	/** Only events with a higher number are sent. */
	after: number;
}

/** The members that a response repeats are held besides what is read. */
export function readingOf(call: Call, { repeated }: Shown): Reading {
	return {
		caller: call.caller,
		admit: admitOutput(call),
		bounded: (kept) => boundedReads(call, READ_BYTES, () => repeated.length + kept()),
	};
}

/** Resolves when all events were sent or the client has disconnected, which leaves the job as it is. */
export async function sendEvents(kernel: Kernel, call: Call, q: Following): Promise<void> {
	const { res, caller } = call;
	// Of a large request only these are left.
	holdNow(call, q.shown.repeated.length);
	res.writeHead(200, EVENT_STREAM);
	res.flushHeaders();
	try {
		const events = q.shown.stream ? streamed(kernel, call, q) : unstreamed(kernel, call, q);
		for await (const event of events) {
			if (event === "waiting") res.write(": waiting\n\n");
			else if (event.number > q.after) await write(call, event);
			if (caller.disconnected) return;
		}
		res.end();
	} catch (error) {
		if (!(error instanceof ApiError || error instanceof StoreUnavailable)) throw error;
		const removed = error instanceof ApiError && error.code === "job_not_found";
		const failure = removed ? failureByEnd("removed") : failureOfRefusal(refusalOf(error, res.requestId));
		// No event of the response: clients raise an error, and may resume.
		res.end(`data: ${failureBody(failure)}\n\n`);
	}
}

type LargeEvent = Omit<LogEvent, "data"> & { data: readonly JsonText[] };

async function write(call: Call, { type, data }: LogEvent | LargeEvent): Promise<void> {
	const { res } = call;
	if (typeof data === "string") {
		for (const part of slicesOf(`event: ${type}\ndata: ${data}\n\n`)) if (!res.write(part)) await drained(call);
		return;
	}
	res.write(`event: ${type}\ndata: `);
	for (const piece of data.flat())
		if (!res.write(typeof piece === "string" ? piece : bytesOnOneLine(piece))) await drained(call);
	res.write("\n\n");
}

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];

/** Replaces line breaks, which no text within JSON contains. */
function bytesOnOneLine(bytes: Uint8Array): Uint8Array {
	if (!bytes.includes(LF) && !bytes.includes(CR)) return bytes;
	return bytes.map((byte) => (byte === LF || byte === CR ? SPACE : byte));
}

type Sent = LogEvent | LargeEvent | "waiting";

/**
 * The events of a response that was not created with `stream`: all are made here. `in_progress` is there also if its
 * worker was lost and it ended in the queue: some readers have got it.
 */
async function* unstreamed(kernel: Kernel, call: Call, { job, shown }: Following): AsyncGenerator<Sent> {
	yield* eventLog(shown).opening();
	let isRunning = false;
	for (let ms = 0; ; ms = CHECK_MS) {
		refuseWhileDraining(call);
		const { job: now } = await kernel.jobs.statusSync({ ...job, ms, caller: call.caller });
		if (call.caller.disconnected) return;
		if (isFinal(now.state)) break;
		if (!isRunning && now.attempt > 0) {
			isRunning = true;
			yield ownEvent(IN_PROGRESS, "response.in_progress", ownObject(shown, "in_progress"));
		} else if (ms > 0) yield "waiting";
	}
	const found = await recordOf(kernel, job);
	if (!isRunning && found.job.attempt > 0)
		yield ownEvent(IN_PROGRESS, "response.in_progress", ownObject(shown, "in_progress"));
	const { status, response } = await endingOf(kernel, found, shown, readingOf(call, shown));
	const type = `response.${status}`;
	if (typeof response === "string") return yield ownEvent(ENDED, type, onOneLine(response));
	const head = `{"type":"${type}","sequence_number":${ENDED},"response":`;
	yield { number: ENDED, type, data: [head, response, "}"] };
}

/** The events of the worker. */
async function* streamed(kernel: Kernel, call: Call, { job, shown }: Following): AsyncGenerator<Sent> {
	const { jobs } = kernel;
	const { caller } = call;
	const log = eventLog(shown);
	const reading = readingOf(call, shown);
	const bounded = reading.bounded(() => 2 * log.size);
	yield* log.opening();
	const follower = call.engine.jobs.follow(job);
	let attempt = 0;
	try {
		for (let at = 0; ; ) {
			refuseWhileDraining(call);
			const part = await jobs.streamFrom({ ...job, from: at, waitMs: CHECK_MS, caller, bounded, follower });
			if (part.attempt === undefined || part.attempt !== attempt) {
				const { job: now } = await jobs.status(job);
				if (caller.disconnected) return;
				const isOther = now.attempt !== attempt;
				if (isOther || waitsAgain(now)) {
					// The chunks read may be of the lost attempt and are read again.
					if (waitsAgain(now)) at = Math.max(at, part.next);
					attempt = now.attempt;
					log.restart();
					if (!isOther) yield "waiting";
					continue;
				}
			}
			yield* chunkEvents(log, part);
			at = Math.max(at, part.next);
			holdNow(call, shown.repeated.length + 2 * log.size);
			if (isFinal(part.state)) break;
			if (part.chunks.length === 0) yield "waiting";
		}
		const found = await recordOf(kernel, job);
		if (found.job.state === "COMPLETED") yield* log.hasChunks ? log.rest() : resultEvents(kernel, found, log, reading);
		yield log.last(found, endedAt(kernel, found.job));
	} finally {
		follower.close();
	}
}

function refuseWhileDraining({ engine }: Call): void {
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
}

async function recordOf({ store, now }: Kernel, job: JobName): Promise<JobRecord> {
	const found = await store.jobs.record({ ...job, now: now(), large: "size" });
	if (!found || found.job.erased) throw new ApiError("job_not_found", { endpoint: job.endpoint, job: job.id });
	return found;
}
