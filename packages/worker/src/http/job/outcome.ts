/** What answers and failures of the server mean for a job: it fails, is returned to the queue, or is lost. */
import { waitAfter } from "../../backoff.ts";
import { JobReturn } from "../../job-return.ts";
import { ConnectionError, type ConnectOptions, type Server } from "../exchange/connection.ts";
import { exchange, type Exchange, readStart } from "../exchange/exchange.ts";
import type { PreparedRequest } from "../exchange/request.ts";
import { JobFailure } from "../job-failure.ts";
import type { Hide } from "../mapping/credentials.ts";
import { type ErrorMapping, hasStatus } from "../mapping/mapping.ts";
import type { Readiness } from "../server/readiness.ts";

export interface SendOptions extends ConnectOptions {
	server: Server;
	errors: ErrorMapping;
	/** Before the status in the error of a failed job. */
	errorPrefix: string;
	readiness: Pick<Readiness, "answered" | "failed" | "probe">;
	/** Closes the connections of the job. */
	signal: AbortSignal;
	/** The service has stopped the job: it is not sent, or not again. */
	stopped: AbortSignal;
	/** Called with true before the request is written, and with false when the server has refused it. */
	onSent: (sent: boolean) => void;
	/** 0 to below 1. */
	random: () => number;
	hide: Hide;
}

/** Pauses before a busy server is asked again, ms. The first is also the shortest that `Retry-After` can ask for. */
const BUSY = { firstMs: 1000, longestMs: 30_000 };
/** Bytes of an answer in the error of a job. */
const SHOWN_BYTES = 4096;
/** Time for the body of an error, ms. */
const ERROR_BODY_MS = 5000;

type Outcome = "fail" | "busy" | "lose";

/** A number in a list counts before a range. Statuses of no list fail. */
export function outcomeOf(status: number, errors: ErrorMapping): Outcome {
	const kinds = ["busy", "lose", "fail"] as const;
	return (
		kinds.find((kind) => hasStatus(errors[kind], status, true)) ??
		kinds.find((kind) => hasStatus(errors[kind], status)) ??
		"fail"
	);
}

/**
 * Sends until a 2xx answer, again while the server is busy. Throws {@link JobFailure}, {@link JobReturn}, and after an
 * abort of `signal` any error.
 */
export async function sendUntilAnswered(request: PreparedRequest, options: SendOptions): Promise<Exchange> {
	const { server, errors, errorPrefix, readiness, clock, hide, signal, stopped, onSent, random } = options;
	const either = AbortSignal.any([signal, stopped]);
	let busySince: number | undefined;
	let isLast = false;
	for (let tries = 1; ; tries += 1) {
		if (either.aborted) throw new Error("The job was stopped.");
		let answer: Exchange;
		try {
			answer = await exchange(server, { ...options, ...request, onConnected: () => onSent(true) });
		} catch (error) {
			throw await lossOf(error, options);
		}
		readiness.answered(answer.status);
		if (answer.status >= 200 && answer.status < 300) return answer;
		onSent(false);
		const reason = await refusalOf(answer, { clock, hide });
		const outcome = outcomeOf(answer.status, errors);
		if (answer.status >= 500 && !(await readiness.probe()))
			throw new JobReturn(`The server is no longer ready. ${reason}`, { loss: outcome !== "busy" });
		if (outcome === "lose") throw new JobReturn(reason, { loss: true });
		if (outcome === "fail") throw new JobFailure(errorPrefix + reason);
		busySince ??= clock.now();
		const left = errors.busyMs - (clock.now() - busySince);
		if (isLast || left <= 0) throw new JobReturn(`The server was busy for ${errors.busyMs} ms. ${reason}`);
		const asked = retryAfterMs(answer.headers["retry-after"], clock.now());
		const wait = asked === undefined ? waitAfter(tries, BUSY, random) : Math.max(BUSY.firstMs, asked);
		isLast = wait >= left;
		await clock.sleep(Math.min(wait, left), either);
	}
}

/** Status and start of the text of an answer that is an error, without credentials, which the end may split. */
export async function refusalOf(
	answer: Exchange,
	{ clock, hide }: Pick<SendOptions, "clock" | "hide">,
): Promise<string> {
	const { text, end } = await readStart(answer, SHOWN_BYTES, { ms: ERROR_BODY_MS, clock });
	return `HTTP ${answer.status}: ${hide(text, end !== "whole")}`;
}

/**
 * What a failed connection means for the job. A server that received the request may have begun, so that the attempt
 * counts as lost, whether the server still runs or not.
 */
export async function lossOf(
	error: unknown,
	{ readiness, signal }: Pick<SendOptions, "readiness" | "signal">,
): Promise<unknown> {
	if (!(error instanceof ConnectionError) || signal.aborted) return error;
	if (error.kind === "invalid") return new JobFailure(error.message);
	if (error.kind === "unsent") {
		readiness.failed(error.message);
		return new JobReturn(`The server cannot be reached: ${error.message}`);
	}
	const ready = await readiness.probe();
	return new JobReturn(`${ready ? "" : "The server is no longer ready: "}${error.message}`, { loss: true });
}

/** The wait of a `Retry-After` header, seconds or a date (RFC 9110), ms. That of a date in the past is negative. */
function retryAfterMs(header: string | undefined, now: number): number | undefined {
	if (header === undefined) return undefined;
	const text = header.trim();
	if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
	// `Date.parse` reads a year or a month of other numbers.
	const ms = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) - now : Number.NaN;
	return Number.isFinite(ms) ? ms : undefined;
}
