/** What a background response has become (D58): its job has ended. */
import type { AdmitOutput } from "../../../kernel/core/jobs/job-view.ts";
import { isFinal } from "../../../kernel/core/jobs/job-states.ts";
import { LARGE_BYTES, sizeOf, stringOf } from "../../../kernel/lib/json/json-text.ts";
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import type { BoundedRead, StreamPart } from "../../../kernel/engine/jobs/stream/stream.ts";
import type { Caller } from "../../../kernel/engine/jobs/wait.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { JobRecord } from "../../../kernel/store/contract/jobs.ts";
import { failureInOutput } from "../failures.ts";
import { outputOf, resultAsChunks, singleResult } from "../translation.ts";
import { eventLog, type EventLog, type LogEvent } from "./event-log.ts";
import { type Ending, endedAt, ownObject, type Shown, workersResponse } from "./response.ts";

/** How results and chunks are read: within what the caller may hold. */
export interface Reading {
	caller: Caller;
	admit: AdmitOutput;
	/** `kept`: characters that are held besides. */
	bounded: (kept: () => number) => BoundedRead;
}

type Context = Pick<Kernel, "jobs" | "calendar">;

/** `found`: the job, which has ended. Throws `job_not_found`. */
export async function endingOf(d: Context, found: JobRecord, shown: Shown, reading: Reading): Promise<Ending> {
	const at = endedAt(d, found.job);
	const isStream = shown.stream && found.chunks.written > 0;
	if (found.job.state === "COMPLETED" && !isStream) {
		const ending = await wholeResult(d, found, shown, reading);
		if (ending) return ending;
	}
	const log = eventLog(shown);
	for await (const _ of completedEvents(d, found, log, reading));
	return log.ending(found, at);
}

/** What {@link endingOf} finds, of a job that has completed without chunks. */
export async function endingOfResult(d: Context, found: JobRecord, shown: Shown, reading: Reading): Promise<Ending> {
	const whole = await wholeResult(d, found, shown, reading);
	if (whole) return whole;
	const log = eventLog(shown);
	for await (const _ of resultEvents(d, found, log, reading));
	return log.ending(found, endedAt(d, found.job));
}

/** The response of a worker that has sent one object. */
async function wholeResult(d: Context, found: JobRecord, shown: Shown, reading: Reading): Promise<Ending | undefined> {
	const single = await inSlices(singleResult(await outputIn(d, found, reading)));
	if (single === undefined) return undefined;
	const failure = sizeOf(single) <= LARGE_BYTES ? failureInOutput(stringOf(single)) : undefined;
	if (failure)
		return {
			status: "failed",
			response: ownObject(shown, "failed", { ...failure, completedAt: endedAt(d, found.job) }),
		};
	return await inSlices(workersResponse(single, shown));
}

async function outputIn({ jobs }: Context, found: JobRecord, { admit }: Reading) {
	const { endpoint, id } = found.job;
	return (found.outputBytes === undefined ? found : await jobs.status({ endpoint, id, output: admit })).output;
}

/** Reads all that the worker of a completed job has sent into the log. Nothing for other ends. */
async function* completedEvents(
	d: Context,
	found: JobRecord,
	log: EventLog,
	reading: Reading,
): AsyncGenerator<LogEvent> {
	if (found.job.state !== "COMPLETED") return;
	const { endpoint, id } = found.job;
	const bounded = reading.bounded(() => 2 * log.size);
	for (let from = 0; ; ) {
		const part = await d.jobs.streamFrom({ endpoint, id, from, waitMs: 0, caller: reading.caller, bounded });
		yield* chunkEvents(log, part);
		from = part.next;
		if (isFinal(part.state) || part.chunks.length === 0) break;
	}
	yield* log.hasChunks ? log.rest() : resultEvents(d, found, log, reading);
}

/** Events between two turns of the event loop. */
const EACH = 100;

/** Takes the chunks of a part into the log. Other requests run in between: a chunk may have many thousand events. */
export async function* chunkEvents(
	log: Pick<EventLog, "chunk">,
	{ chunks, next }: Pick<StreamPart, "chunks" | "next">,
): AsyncGenerator<LogEvent> {
	const first = next - chunks.length;
	let count = 0;
	for (const [index, chunk] of chunks.entries())
		for (const event of log.chunk(first + index, outputOf(chunk))) {
			yield event;
			count += 1;
			if (count % EACH === 0) await new Promise((resolve) => setImmediate(resolve));
		}
}

/** Takes the result of a job without chunks. */
export async function* resultEvents(
	d: Context,
	found: JobRecord,
	log: EventLog,
	reading: Reading,
): AsyncGenerator<LogEvent> {
	yield* log.results(found);
	for (const piece of resultAsChunks(await outputIn(d, found, reading)))
		if (piece === undefined) await new Promise((resolve) => setImmediate(resolve));
		else yield* log.result(piece);
	yield* log.rest();
}
