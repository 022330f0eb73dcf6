/** The asynchronous form: the request has submitted, and polls show the state until the job has ended. */
import type { Clock } from "../clock.ts";
import { JobReturn } from "../job-return.ts";
import type { RawJson } from "../raw-json.ts";
import { type AnswerOptions, jsonOutput, parseJson, readOutput, tooLarge } from "./answer.ts";
import { failureIn, shortened } from "./condition.ts";
import { ConnectionError, type ConnectOptions, type Server } from "./connection.ts";
import { exchange, type Exchange, readStart } from "./exchange.ts";
import { JobFailure } from "./job-failure.ts";
import { type AsyncMapping, type Call, type ErrorMapping, hasStatus } from "./mapping.ts";
import { lossOf, outcomeOf, refusalOf } from "./outcome.ts";
import type { Readiness } from "./readiness.ts";
import type { PreparedRequest } from "./request.ts";
import { atPointer, textOf } from "./template.ts";

export interface PollOptions extends ConnectOptions {
	server: Server;
	async: AsyncMapping;
	errors: ErrorMapping;
	output: AnswerOptions;
	readiness: Pick<Readiness, "answered" | "failed" | "probe">;
	clock: Clock;
	signal: AbortSignal;
	/** Makes a request with what {@link PollOptions.onPoll} received last. */
	prepare: (call: Call) => Promise<PreparedRequest>;
	/** Called with the JSON of each poll. */
	onPoll: (value: unknown) => void;
	/** Called when the job is done, before its result is read. */
	onDone: () => void;
}

/** Polls until the job is done, and returns its output. Throws {@link JobFailure} and {@link JobReturn}. */
export async function pollUntilDone(options: PollOptions): Promise<RawJson> {
	const { async, clock, signal, output, onPoll, onDone } = options;
	let missingSince: number | undefined;
	let failingSince: number | undefined;
	for (;;) {
		await clock.sleep(async.everyMs, signal);
		if (signal.aborted) throw new Error("The job was cancelled.");
		const polled = await pollOnce(options);
		if (polled.kind !== "answer") {
			if (polled.kind === "missing") missingSince ??= clock.now();
			else missingSince = undefined;
			failingSince ??= clock.now();
			const [since, most] =
				missingSince === undefined ? [failingSince, options.errors.busyMs] : [missingSince, async.missingAfterMs];
			if (clock.now() - since < most) continue;
			const what = polled.kind === "missing" ? "The server no longer knows the job" : `Polls failed for ${most} ms`;
			throw new JobReturn(`${what}: ${polled.reason}`, { loss: true });
		}
		missingSince = undefined;
		failingSince = undefined;
		const { text } = polled;
		const value = parseJson(text);
		onPoll(value);
		const state = textOf(atPointer(value, async.state));
		const isIn = (states: readonly unknown[]): boolean => states.some((each) => textOf(each) === state);
		if (isIn(async.failed))
			throw new JobFailure(failureIn(output.failed, value, text) ?? shortened(`The server's job failed: ${text}`));
		if (isIn(async.cancelled)) throw new JobFailure(shortened(`The job was cancelled on the server: ${text}`));
		if (!isIn(async.done)) continue;
		onDone();
		return async.result ? await fetchResult(options, async.result) : jsonOutput(text, output);
	}
}

/** `failing`: a busy server, or a connection that a server which is still ready has closed. */
interface Refused {
	kind: "missing" | "failing";
	reason: string;
}

type Polled = { kind: "answer"; text: string } | Refused;

async function pollOnce(options: PollOptions): Promise<Polled> {
	const { server, async, output, readiness, clock, signal, prepare } = options;
	const request = await prepare(async.poll);
	try {
		const answer = await exchange(server, { ...options, ...request });
		readiness.answered();
		if (answer.status >= 200 && answer.status < 300) {
			const { maxBytes } = output.answer;
			const { text, end } = await readStart(answer, { maxBytes, withinMs: undefined, clock });
			if (end === "whole") return { kind: "answer", text };
			if (end === "bound") throw tooLarge("The answer to a poll", maxBytes);
			throw new ConnectionError("the answer to a poll was cut", "broken");
		}
		return await refused(answer, options);
	} catch (error) {
		if (signal.aborted || !(error instanceof ConnectionError) || error.kind === "invalid" || !(await readiness.probe()))
			throw lostSubmission(await lossOf(error, { readiness, signal }));
		return { kind: "failing", reason: error.message };
	} finally {
		await request.release();
	}
}

async function refused(answer: Exchange, { async, errors, clock }: PollOptions): Promise<Refused> {
	const reason = await refusalOf(answer, clock);
	if (hasStatus(async.missing, answer.status)) return { kind: "missing", reason };
	if (answer.status < 500 && outcomeOf(answer.status, errors) === "fail")
		throw new JobFailure(`A poll of the job failed: ${reason}`);
	return { kind: "failing", reason };
}

/** The server has the job, so that even an unsent poll is a loss. */
function lostSubmission(error: unknown): unknown {
	return error instanceof JobReturn ? new JobReturn(error.message, { loss: true }) : error;
}

/**
 * A result may be readable only once, so that it is asked for again only by a request that did not read it: one that a
 * busy server refused, or that was not sent.
 */
async function fetchResult(options: PollOptions, call: Call): Promise<RawJson> {
	const { async, server, errors, output, readiness, clock, signal, prepare } = options;
	const request = await prepare(call);
	const failingSince = clock.now();
	try {
		for (;;) {
			let reason: string;
			try {
				const answer = await exchange(server, { ...options, ...request });
				readiness.answered();
				if (answer.status >= 200 && answer.status < 300) return await readOutput(answer, output);
				({ reason } = await refused(answer, options));
				if (outcomeOf(answer.status, errors) !== "busy")
					throw new JobReturn(`The job's result could not be read: ${reason}`, { loss: true });
			} catch (error) {
				if (!(error instanceof ConnectionError) || error.kind !== "unsent") throw error;
				reason = error.message;
			}
			if (clock.now() - failingSince >= errors.busyMs)
				throw new JobReturn(`The job's result could not be read for ${errors.busyMs} ms: ${reason}`, { loss: true });
			await clock.sleep(async.everyMs, signal);
			if (signal.aborted) throw new Error("The job was cancelled.");
		}
	} catch (error) {
		throw lostSubmission(await lossOf(error, { readiness, signal }));
	} finally {
		await request.release();
	}
}
