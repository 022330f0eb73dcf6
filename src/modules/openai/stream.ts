/** Streaming answers of `/openai/*` (D32): chunks as server-sent events. */
import { ApiError } from "../../kernel/core/errors.ts";
import type { Job } from "../../kernel/core/jobs/job.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { BLOCK_BYTES } from "../../kernel/lib/json/json-text.ts";
import { failureBody, failureOfRefusal, type OpenAIFailure } from "./error-form.ts";
import { failureByEnd, failureInOutput, failureOfJob } from "./failures.ts";
import { eventText } from "./event-text.ts";
import { type TokenUsage, usageIn } from "./usage.ts";
import { outputOf, resultAsChunks, singleResult } from "./translation.ts";
import { answeredAsFile } from "./file-answer.ts";
import type { Follower } from "../../kernel/engine/jobs/stream/live-chunks.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import { admitOutput } from "../../kernel/http/exchange/answer.ts";
import { type Call, drained } from "../../kernel/http/exchange/call.ts";
import { boundedReads } from "../../kernel/http/memory/bounded-reads.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import { answerFailure, CHECK_MS, countTokens, type JobName, READ_BYTES, type TokenCounts } from "./reply.ts";
import { inSlices, refusalOf } from "../../kernel/http/exchange/reply.ts";
import { EVENT_STREAM } from "../../kernel/http/exchange/server-sent-events.ts";

/**
 * False if the job fails or the client disconnects. The 200 waits for the first chunk or the end, so an early
 * failure is an HTTP error and a later one the last event. Reads by offset, which leaves the cursor (D7).
 */
export async function streamed(call: Call, job: JobName, counts: TokenCounts): Promise<boolean> {
	const { engine, res, caller } = call;
	const text = eventText();
	let usage: TokenUsage | undefined;

	async function send(piece: string): Promise<void> {
		usage = usageIn(piece) ?? usage;
		if (!res.headersSent) res.writeHead(200, EVENT_STREAM);
		if (piece === "") res.flushHeaders();
		for (const part of slicesOf(piece)) if (!res.write(part)) await drained(call);
	}

	function fail(failure: OpenAIFailure): void {
		if (res.headersSent) res.end(text.fail(failureBody(failure)));
		else answerFailure(call, failure);
	}

	/** One write. False after a failure, which ends the stream, or a disconnect. */
	async function sendAll(outputs: readonly string[]): Promise<boolean> {
		let piece = "";
		for (const output of outputs) {
			const failure = failureInOutput(output);
			if (failure) {
				if (piece !== "") await send(piece);
				fail(failure);
				return false;
			}
			piece += text.chunk(output);
		}
		if (outputs.length > 0) await send(piece);
		return !caller.disconnected;
	}

	/** False also after an answer that is no stream. */
	async function sendResult(): Promise<boolean> {
		const { output } = await engine.jobs.status({ ...job, output: admitOutput(call) });
		const single = await inSlices(singleResult(output));
		if (single !== undefined && (await answeredAsFile(call, single))) return false;
		for (const piece of resultAsChunks(output)) {
			if (piece === undefined) await new Promise((resolve) => setImmediate(resolve));
			else if (!(await sendAll([piece]))) return false;
		}
		return true;
	}

	async function sendJob(follower: Follower): Promise<boolean> {
		let attempt = 0;
		const bounded = boundedReads(call, READ_BYTES);
		for (let at = 0; ; ) {
			if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
			const found = await engine.jobs.streamFrom({
				...job,
				from: at,
				waitMs: CHECK_MS,
				caller,
				bounded,
				follower,
			});
			if (found.attempt !== undefined && found.attempt === attempt) {
				if (!(await sendAll(found.chunks.map(outputOf)))) return !caller.disconnected;
				at = found.next;
				continue;
			}
			const now = await engine.jobs.status(job);
			if (caller.disconnected) return false;
			if (now.job.attempt !== attempt || waitsAgain(now.job)) {
				if (res.headersSent) {
					fail(failureByEnd("broken"));
					return false;
				}
				// Nothing was sent, so a new attempt may start. The chunks read may be of the lost attempt and are read
				// again.
				attempt = now.job.attempt;
				if (waitsAgain(now.job)) at = found.next;
			} else {
				if (!(await sendAll(found.chunks.map(outputOf)))) return !caller.disconnected;
				at = found.next;
				await hold(call, 0);
				if (isFinal(found.state)) {
					if (now.job.state !== "COMPLETED") fail(failureOfJob(now));
					else if (res.headersSent || (await sendResult())) {
						await send(text.end());
						res.end();
					}
					return true;
				}
				if (res.headersSent && found.chunks.length === 0) await send(text.comment());
			}
		}
	}

	const follower = engine.jobs.follow(job);
	try {
		return await sendJob(follower);
	} catch (error) {
		if (!res.headersSent || !(error instanceof ApiError || error instanceof StoreUnavailable)) throw error;
		const removed = error instanceof ApiError && error.code === "job_not_found";
		fail(removed ? failureByEnd("removed") : failureOfRefusal(refusalOf(error, call.res.requestId)));
		return false;
	} finally {
		countTokens(call, { counts, endpoint: job.endpoint, usage });
		follower.close();
	}
}

/** Pieces of a text for one write each. */
export function* slicesOf(text: string): Generator<string> {
	for (let at = 0, end = 0; at < text.length; at = end) {
		end = Math.min(at + BLOCK_BYTES, text.length);
		// Do not split a surrogate pair.
		if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
		yield text.slice(at, end);
	}
}

/** Whether the attempt of a job was lost. */
export function waitsAgain({ state, attempt }: Job): boolean {
	return state === "IN_QUEUE" && attempt > 0;
}
