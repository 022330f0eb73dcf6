/** The asynchronous form: the request has submitted, and polls show the state until the job has ended. */
import type { Clock } from "../../clock.ts";
import { JobReturn } from "../../job-return.ts";
import type { RawJson } from "../../raw-json.ts";
import { ConnectionError, type ConnectOptions, type Server } from "../exchange/connection.ts";
import { exchange, type Exchange } from "../exchange/exchange.ts";
import type { PreparedRequest } from "../exchange/request.ts";
import { JobFailure } from "../job-failure.ts";
import { failureIn } from "../mapping/condition.ts";
import type { Hide } from "../mapping/credentials.ts";
import { type AsyncMapping, type Call, type ErrorMapping, hasStatus } from "../mapping/mapping.ts";
import { atPointer, textOf } from "../mapping/template.ts";
import type { Readiness } from "../server/readiness.ts";
import { type AnswerOptions, jsonOutput, parseJson, readOutput, readText } from "./answer.ts";
import { lossOf, outcomeOf, refusalOf } from "./outcome.ts";
import { heardBody, watchSilence } from "./silence.ts";

/** Time in which nothing of a poll's answer arrives, ms. Another poll may be answered. */
const SILENT_MS = 60_000;

export interface PollOptions extends ConnectOptions {
	server: Server;
	async: AsyncMapping;
	errors: ErrorMapping;
	output: AnswerOptions;
	readiness: Pick<Readiness, "answered" | "failed" | "probe">;
	clock: Clock;
	hide: Hide;
	signal: AbortSignal;
	/** Makes a request with what {@link PollOptions.onPoll} received last. */
	prepare: (call: Call) => Promise<PreparedRequest>;
	/** Resolves with the answer of a job that is done. */
	fetchResult: (call: Call) => Promise<Exchange>;
	/** Called with the JSON of each poll. */
	onPoll: (value: unknown) => void;
	/** Called when the job is done, before its result is read. */
	onDone: () => void;
}

/** Polls until the job is done, and returns its output. Throws {@link JobFailure} and {@link JobReturn}. */
export async function pollUntilDone(options: PollOptions): Promise<RawJson> {
	const { async, clock, signal, output, fetchResult, onPoll, onDone } = options;
	let failingSince: number | undefined;
	for (;;) {
		await clock.sleep(async.everyMs, signal);
		if (signal.aborted) throw new Error("The job was cancelled.");
		const polled = await pollOnce(options);
		if ("failing" in polled) {
			failingSince ??= clock.now();
			const { busyMs } = options.errors;
			if (clock.now() - failingSince < busyMs) continue;
			throw new JobReturn(`Polls failed for ${busyMs} ms: ${polled.failing}`, { loss: true });
		}
		failingSince = undefined;
		const { text } = polled;
		const value = parseJson(text);
		onPoll(value);
		const state = textOf(atPointer(value, async.state));
		const isIn = (states: readonly unknown[]): boolean => states.some((each) => textOf(each) === state);
		if (isIn(async.failed))
			throw new JobFailure(failureIn(output.failed, value, text) ?? `The server's job failed: ${text}`);
		if (isIn(async.cancelled)) throw new JobFailure(`The job was cancelled on the server: ${text}`);
		if (!isIn(async.done)) {
			// Such as an error in place of a state, under 200, which would be there in each further poll.
			const failure = failureIn(output.failed, value, text);
			if (failure !== undefined) throw new JobFailure(failure);
			continue;
		}
		onDone();
		return async.result ? await readOutput(await fetchResult(async.result), output) : jsonOutput(text, output);
	}
}

/** `failing`: why there is no answer: the server is busy or silent, or it is still ready and closed the connection. */
type Polled = { text: string } | { failing: string };

async function pollOnce(options: PollOptions): Promise<Polled> {
	const { server, async, output, readiness, clock, signal, prepare } = options;
	const request = await prepare(async.poll);
	const silent = new AbortController();
	const silence = watchSilence({ silenceMs: SILENT_MS, clock, onSilence: () => silent.abort() });
	try {
		silence.heard();
		const either = AbortSignal.any([signal, silent.signal]);
		const received = await exchange(server, { ...options, ...request, signal: either });
		const answer = { ...received, body: heardBody(received.body, silence) };
		readiness.answered(answer.status);
		if (answer.status >= 200 && answer.status < 300) {
			return { text: await readText(answer, "The answer to a poll", output.answer.maxBytes) };
		}
		return { failing: await refused(answer, options) };
	} catch (error) {
		// Whether the server is ready is not asked: it may answer nothing to that either while it works.
		if (silent.signal.aborted && !signal.aborted) return { failing: `nothing arrived for ${SILENT_MS} ms` };
		if (signal.aborted || !(error instanceof ConnectionError) || error.kind === "invalid" || !(await readiness.probe()))
			throw lostSubmission(await lossOf(error, { readiness, signal }));
		return { failing: error.message };
	} finally {
		silence.stop();
		await request.release();
	}
}

/** Status and text of a refusal that another poll may not meet. Throws for all others. */
async function refused(answer: Exchange, { async, errors, clock, hide }: PollOptions): Promise<string> {
	const reason = await refusalOf(answer, { clock, hide });
	if (hasStatus(async.missing, answer.status))
		throw new JobReturn(`The server no longer knows the job: ${reason}`, { loss: true });
	const hasFailed = answer.status < 500 && outcomeOf(answer.status, errors) === "fail";
	if (hasFailed || hasStatus(async.fails, answer.status)) throw new JobFailure(`A poll of the job failed: ${reason}`);
	return reason;
}

/** What an error means for a job that the server has: even a request that was not sent is a loss then. */
export function lostSubmission(error: unknown): unknown {
	return error instanceof JobReturn ? new JobReturn(error.message, { loss: true }) : error;
}
